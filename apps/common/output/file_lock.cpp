#include "apps/common/output/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/unwritable.h"

namespace lenslet {

FileLock::FileLock(const std::string& path) {
  const std::string real = resolved_path(path);
  const std::string name = (real.empty() ? path : real) + ".lenslet-lock";
  while (true) {
    const SignalsHeld held;
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) throw OutputError(unwritable(name, errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(descriptor_);
      if (error != EWOULDBLOCK) {
        throw OutputError(concat(printable_excerpt(name), ": cannot be locked: ", std::strerror(error)));
      }
      throw OutputError(
          concat(printable_excerpt(path),
                 ": another run with --resume is adding to this file: wait for its end, or give "
                 "another --json file"));
    }
    // The last holder may have removed the name between open() and flock(); then the locked file has no name.
    struct stat mine = {}, named = {};
    const bool current = ::fstat(descriptor_, &mine) == 0 && ::stat(name.c_str(), &named) == 0 &&
                         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
    if (current && (mine.st_size != 0 || !S_ISREG(mine.st_mode))) {
      ::close(descriptor_);
      throw OutputError(concat(printable_excerpt(name),
                               ": expected an empty file, the lock of --resume, found ", mine.st_size,
                               " bytes of something else: move it, or give another --json file"));
    }
    if (current) {
      name_.emplace(name);
      return;
    }
    ::close(descriptor_);
  }
}

FileLock::~FileLock() {
  name_.reset();  // remove the file while the lock is held
  ::close(descriptor_);
}

}  // namespace lenslet
