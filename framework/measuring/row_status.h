// Statuses of rows: what became of a thing that was to be measured or verified (docs/result_files.md).
#pragma once

namespace lenslet::row_status {

inline constexpr const char* kPassed = "PASSED";            ///< Verified, and measured where it is timed.
inline constexpr const char* kFailed = "FAILED";            ///< The result is wrong.
inline constexpr const char* kUnsupported = "UNSUPPORTED";  ///< Unavailable, or refused by the backend.
inline constexpr const char* kSkipped = "SKIPPED";  ///< Not run: interrupted, out of memory or left out.
inline constexpr const char* kSuspect = "SUSPECT";  ///< Faster than the machine's ceilings.
inline constexpr const char* kError = "ERROR";      ///< Could not be run.

/// Every status; a result file has no other.
inline constexpr const char* kAll[] = {kPassed, kFailed, kUnsupported, kSkipped, kSuspect, kError};

}  // namespace lenslet::row_status
