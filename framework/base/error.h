// Errors of the whole project: one exception type for each documented exit code.
//
// A message is one line: what was expected, what was found and what to do. Only main() converts an error to an exit
// code and ends the process, except for a second signal, a failed rank and a lost device (apps/common).
#pragma once

#include <sstream>  // with std::locale: nvcc takes most of a second for <locale> itself
#include <stdexcept>
#include <string>
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

/// Joins its arguments into one string, numbers in the classic locale ("1.5", never "1,5").
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
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
  /// Whether it is supported.
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
