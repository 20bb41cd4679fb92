// What a sanitizer of this build means for its tests.
#pragma once

namespace lenslet::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

/// Both keep freed memory, and their shadow memory needs terabytes of address space.
constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// The factor on limits of processor time: sanitized code takes up to ten times as long.
constexpr double kSlowdown = kSanitized ? 10 : 1;

}  // namespace lenslet::test
