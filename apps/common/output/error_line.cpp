#include "apps/common/output/error_line.h"

#include <unistd.h>

#include <exception>
#include <string>

#include "framework/base/text.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

constexpr std::string_view kError = ": error: ";

/// A line in memory of its own.
class FixedLine {
 public:
  void append(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ == kMaxLineBytes) return;
      text_[size_++] = c >= ' ' && c <= '~' ? c : '?';
    }
  }
  void write() noexcept {
    text_[size_] = '\n';
    write_all(STDERR_FILENO, text_, size_ + 1);
  }

 private:
  char text_[kMaxLineBytes + 1];  // and the line's end
  size_t size_ = 0;
};

}  // namespace

void write_error_line(std::string_view program, std::initializer_list<std::string_view> what) noexcept {
  try {
    std::string words, line(program);  // not concat(): its stream drops what it has no memory for
    for (const std::string_view part : what) words += part;
    line.append(kError).append(printable_line(words)) += '\n';
    write_all(STDERR_FILENO, line.data(), line.size());
  } catch (const std::exception&) {
    FixedLine line;
    line.append(program);
    line.append(kError);
    for (const std::string_view part : what) line.append(part);
    line.write();
  }
}

}  // namespace lenslet
