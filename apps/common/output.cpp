#include "apps/common/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "apps/common/text.h"

namespace lenslet {
namespace {

// Returns 0 or errno.
int write_all(int descriptor, const char* data, size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

}  // namespace

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The wrong direction on purpose: reading or writing a stream that the caller closed stays an error.
    const int placeholder = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (placeholder >= 0 && placeholder != descriptor) {
      ::dup2(placeholder, descriptor);
      ::close(placeholder);
    }
  }
}

void write_standard_output(const std::string& text) {
  const int error = write_all(STDOUT_FILENO, text.data(), text.size());
  if (error == EPIPE) throw ClosedPipe();
  if (error != 0) throw OutputError(concat("standard output: cannot write: ", std::strerror(error)));
}

void write_standard_error(const std::string& text) noexcept {
  write_all(STDERR_FILENO, text.data(), text.size());
}

Console::Console(const std::vector<std::string>& machine_outputs) {
  for (const std::string& path : machine_outputs) {
    if (path != "-") continue;
    if (to_stderr_)
      throw UsageError("only one output can be '-' (standard output); give the others a file name");
    to_stderr_ = true;
  }
}

void Console::print(const std::string& text) {
  if (to_stderr_) {
    write_standard_error(text);
  } else {
    write_standard_output(text);
  }
}

ResultSink::ResultSink(const std::string& path) {
  if (path != "-") file_ = std::make_unique<OutputFile>(path);
}

void ResultSink::write(const std::string& text) {
  if (file_) {
    file_->write(text);
  } else {
    write_standard_output(text);
  }
}

void ResultSink::commit() {
  if (file_) file_->commit();
}

void demand_different_files(const std::vector<std::pair<std::string, std::string>>& files) {
  const auto place = [](const std::string& file) {
    return std::filesystem::absolute(file).lexically_normal();
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const std::string &a = files[j].second, &b = files[i].second;
      if (a.empty() || b.empty() || a == "-" || b == "-" || place(a) != place(b)) continue;
      throw UsageError(concat(files[j].first, " and ", files[i].first, " name the same file, '", printable(b),
                              "': give each its own"));
    }
  }
}

void write_result(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  ResultSink sink(path);
  sink.write(text);
  sink.commit();
}

}  // namespace lenslet
