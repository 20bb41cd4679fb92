// Preloaded into a program: stat() of names that end in ".denied" fails as for another user's link in a world-writable
// folder, if the system protects such links (fs.protected_symlinks); readlink() succeeds.
#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

extern "C" __attribute__((visibility("default"))) int stat(const char* path, struct stat* status) noexcept {
  constexpr char kEnd[] = ".denied";
  const size_t length = std::strlen(path), end = sizeof kEnd - 1;
  if (length >= end && std::strcmp(path + length - end, kEnd) == 0) {
    errno = EACCES;
    return -1;
  }
  static const auto next = reinterpret_cast<int (*)(const char*, struct stat*)>(::dlsym(RTLD_NEXT, "stat"));
  return next(path, status);
}
