// Errors of the whole project: one exception type for each documented exit code.
//
// A message is one line: what was expected, what was found and what to do. Only main() converts an error to an exit
// code and ends the process, except for a second signal, a failed rank and a lost device (apps/common).
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lenslet {

/// Process exit codes, as documented in docs/cli.md, "Exit codes".
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,   // wrong result, accuracy below the required one
  kUsage = 2,         // command line
  kData = 3,          // input, model or data file
  kUnavailable = 4,   // device or backend unavailable
  kDevice = 5,        // CUDA or library error at run time
  kMemory = 6,        // out of memory or workspace
  kOutput = 7,        // output could not be written
  kInterrupted = 130  // SIGINT, SIGTERM or SIGHUP
};

/// Base of every error Lenslet throws.
class Error : public std::runtime_error {
 public:
  /// `message` is one line: what was expected, what was found, what to do.
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// The exit code of the process if main() catches the error.
  ExitCode exit_code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

namespace detail {
/// The exception type of one exit code.
template <ExitCode Code>
class ErrorOf : public Error {
 public:
  /// `message` as for Error.
  explicit ErrorOf(const std::string& message) : Error(Code, message) {}
};
}  // namespace detail

using CheckError = detail::ErrorOf<ExitCode::kCheckFailed>;        // a wrong result
using UsageError = detail::ErrorOf<ExitCode::kUsage>;              // an invalid request
using DataError = detail::ErrorOf<ExitCode::kData>;                // an invalid file
using UnavailableError = detail::ErrorOf<ExitCode::kUnavailable>;  // a device or backend that is unavailable
using DeviceError = detail::ErrorOf<ExitCode::kDevice>;            // a failed call of CUDA or of a library
using MemoryError = detail::ErrorOf<ExitCode::kMemory>;            // not enough memory or workspace
using OutputError = detail::ErrorOf<ExitCode::kOutput>;            // a file that cannot be written
using InterruptedError = detail::ErrorOf<ExitCode::kInterrupted>;  // ended by a signal or the caller

namespace detail {
/// One argument of concat(): a text, a character or a number.
class Part {
 public:
  /// A text, which must outlive this object.
  Part(std::string_view text) noexcept : text_(text) {}
  /// The same.
  Part(const std::string& text) noexcept : text_(text) {}
  /// The same.
  Part(const char* text) : text_(text) {}
  /// A number; a byte is a character, as in a stream.
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Part(Number number) noexcept {
    if constexpr (std::is_floating_point_v<Number>) {
      kind_ = Kind::kReal;
      real_ = number;
    } else {
      kind_ = sizeof(Number) == 1 && !std::is_same_v<Number, bool> ? Kind::kCharacter
              : std::is_signed_v<Number>                           ? Kind::kSigned
                                                                   : Kind::kUnsigned;
      whole_ = static_cast<unsigned long long>(number);
    }
  }

 private:
  friend std::string join(std::initializer_list<Part> parts);
  enum class Kind { kText, kCharacter, kSigned, kUnsigned, kReal };
  Kind kind_ = Kind::kText;
  std::string_view text_;
  unsigned long long whole_ = 0;
  double real_ = 0.0;
};

/// concat() of these parts.
std::string join(std::initializer_list<Part> parts);
}  // namespace detail

/// Joins its arguments into one string, numbers as a stream of the classic locale does ("1.5", never "1,5"). Only
/// error.cpp includes streams: their headers would take a tenth of the time of most sources.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  return detail::join({detail::Part(parts)...});
}

/// The answer to a request: yes, or no with a reason and what to do instead.
class Support {
 public:
  /// Yes: supported.
  static Support yes() { return Support(true, "", ExitCode::kOk); }
  /// `code` is the exit code if the user requested it by name: kMemory if a workspace limit excludes it.
  static Support no(std::string reason, ExitCode code = ExitCode::kUnavailable) {
    return Support(false, std::move(reason), code);
  }
  /// True after yes(), false after no().
  explicit operator bool() const noexcept { return ok_; }
  /// The reason against it; empty for yes.
  const std::string& reason() const noexcept { return reason_; }
  /// The exit code if it was requested by name; kOk for yes.
  ExitCode code() const noexcept { return code_; }

 private:
  Support(bool ok, std::string reason, ExitCode code) : ok_(ok), reason_(std::move(reason)), code_(code) {}
  bool ok_;
  std::string reason_;
  ExitCode code_;
};

/// Whether `needed` bytes of workspace keep to the limit; if not, the reason names `who`, and the code is kMemory.
inline Support workspace_fits(const std::string& who, size_t needed, size_t limit) {
  if (needed <= limit) return Support::yes();
  return Support::no(concat(who, " needs ", needed, " bytes of workspace, the limit is ", limit,
                            ": raise the limit or choose another backend"),
                     ExitCode::kMemory);
}

}  // namespace lenslet
