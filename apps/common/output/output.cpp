#include "apps/common/output/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "apps/common/output/glossary.h"
#include "apps/common/output/text.h"
#include "framework/base/lists.h"
#include "framework/base/text.h"

namespace lenslet {

void prepare_standard_streams() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // Opened in the wrong direction, so that reading or writing a stream that the caller closed still fails.
    const int placeholder = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (placeholder >= 0 && placeholder != descriptor) {
      ::dup2(placeholder, descriptor);
      ::close(placeholder);
    }
  }
}

void silence_standard_output() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) throw OutputError(concat("/dev/null: cannot be opened: ", std::strerror(errno)));
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

void write_standard_output(const std::string& text) {
  const int error = write_all(STDOUT_FILENO, text.data(), text.size());
  if (error == EPIPE) throw ClosedPipe();
  if (error != 0) throw OutputError(concat("standard output: cannot be written: ", std::strerror(error)));
}

void write_standard_error(const std::string& text) noexcept {
  write_all(STDERR_FILENO, text.data(), text.size());
}

Console::Console(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs,
                 TableOptions tables)
    : outputs_(outputs), legend_(tables.legend) {
  for (const NamedFile& output : outputs) {
    if (output.second.empty() || !is_standard_output(output.second)) continue;
    if (to_stderr_)
      throw UsageError("only one output can be '-' (standard output); give the others a file name");
    to_stderr_ = true;
  }
  check_different_files(outputs, inputs);
  check_writable_files(outputs);
  look_ = TableLook::of(to_stderr_ ? STDERR_FILENO : STDOUT_FILENO, tables.wide);
}

void Console::write(const std::string& text) const {
  if (to_stderr_) {
    write_standard_error(text);
  } else {
    write_standard_output(text);
  }
}

void Console::print(const std::string& text) { write(printable_lines(text)); }

void Console::line(const std::string& text, size_t indent) {
  if (look_.wide) return print(text + "\n");
  for (const std::string& line : split(text, "\n")) {
    for (const std::string& part : wrapped(printable(line), look_.width, indent)) print(part + "\n");
  }
}

void Console::print(const Table& table) {
  if (table.empty()) return;
  write(table.to_string(look_));
  if (!legend_) return;
  std::vector<std::string> fresh;
  for (const std::string& word : table.words(look_)) {
    if (std::find(explained_.begin(), explained_.end(), word) == explained_.end()) fresh.push_back(word);
  }
  add_new(explained_, fresh);
  if (fresh.empty()) return;
  line("words of this table; `explain WORD` has more:");
  for (const auto& [word, meaning] : legend_of(fresh)) line(concat("  ", word, ": ", meaning), 4);
}

std::vector<NamedFile> files_named(const char* option, const std::vector<std::string>& files) {
  std::vector<NamedFile> named;
  named.reserve(files.size());
  for (const std::string& file : files) named.emplace_back(option, file);
  return named;
}

void check_different_files(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  const auto same = [](const NamedFile& a, const NamedFile& b, const char* rest) {
    return UsageError(
        concat(a.first, " and ", b.first, " name the same file, '", printable_excerpt(b.second), "'", rest));
  };
  std::map<std::string, const NamedFile*> names;                 // with links resolved
  std::map<std::pair<dev_t, ino_t>, const NamedFile*> existing;  // regular files only
  for (const NamedFile& output : outputs) {
    if (output.second.empty()) continue;
    struct stat status = {};
    if (output.second == "-") {
      if (::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode))
        existing.emplace(std::pair(status.st_dev, status.st_ino), &output);
      continue;
    }
    std::string place = resolved_path(output.second);
    if (place.empty()) place = output.second;  // a loop of links: opening the file reports it
    const auto [first, added] = names.emplace(place, &output);
    const bool there = ::stat(output.second.c_str(), &status) == 0;
    if (!added && (!there || S_ISREG(status.st_mode)))
      throw same(*first->second, output, ": give each its own");
    if (there && S_ISREG(status.st_mode)) existing.emplace(std::pair(status.st_dev, status.st_ino), &output);
  }
  if (existing.empty()) return;
  for (const NamedFile& input : inputs) {
    struct stat status = {};
    if (input.second.empty()) continue;
    if ((input.second == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(input.second.c_str(), &status)) != 0)
      continue;
    const auto found = existing.find(std::pair(status.st_dev, status.st_ino));
    if (found != existing.end()) {
      throw same(input, *found->second,
                 ", which is read and would be written over: give the output another name");
    }
  }
}

void check_writable_files(const std::vector<NamedFile>& outputs) {
  for (const NamedFile& output : outputs) {
    // A FIFO is not opened for trial: closing it would signal the end of data to its reader.
    if (output.second.empty() || is_stream(output.second)) continue;
    const OutputFile tried(output.second);
  }
}

void write_result(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace lenslet
