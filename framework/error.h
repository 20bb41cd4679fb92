// Errors of the whole project: one exception type for each documented exit code.
//
// A message is one line and says what was expected, what was found and what to do. Only main() turns an error
// into an exit code; nothing else in the project calls exit().
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace lenslet {

/// Process exit codes, as documented in README "Exit codes".
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,   // wrong result, accuracy below the demanded one
  kUsage = 2,         // command line
  kData = 3,          // input, model or data file
  kUnavailable = 4,   // device or backend not available
  kDevice = 5,        // CUDA or library error at run time
  kMemory = 6,        // out of memory or workspace
  kOutput = 7,        // output could not be written
  kInterrupted = 130  // SIGINT or SIGTERM
};

/// Base of every error Lenslet throws.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode exit_code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

namespace detail {
template <ExitCode Code>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string& message) : Error(Code, message) {}
};
}  // namespace detail

using CheckError = detail::ErrorOf<ExitCode::kCheckFailed>;
using UsageError = detail::ErrorOf<ExitCode::kUsage>;
using DataError = detail::ErrorOf<ExitCode::kData>;
using UnavailableError = detail::ErrorOf<ExitCode::kUnavailable>;
using DeviceError = detail::ErrorOf<ExitCode::kDevice>;
using MemoryError = detail::ErrorOf<ExitCode::kMemory>;
using OutputError = detail::ErrorOf<ExitCode::kOutput>;
using InterruptedError = detail::ErrorOf<ExitCode::kInterrupted>;

/// Joins its arguments into one string, numbers in the classic locale ("1.5", never "1,5").
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

/// The answer to "can you do this?": yes, or no with a reason that a user can act on.
class Support {
 public:
  static Support yes() { return Support(true, "", ExitCode::kOk); }
  /// `code` is what asking for it by name ends with: kMemory where a workspace limit rules it out.
  static Support no(std::string reason, ExitCode code = ExitCode::kUnavailable) {
    return Support(false, std::move(reason), code);
  }
  explicit operator bool() const noexcept { return ok_; }
  const std::string& reason() const noexcept { return reason_; }
  ExitCode code() const noexcept { return code_; }

 private:
  Support(bool ok, std::string reason, ExitCode code) : ok_(ok), reason_(std::move(reason)), code_(code) {}
  bool ok_;
  std::string reason_;
  ExitCode code_;
};

}  // namespace lenslet
