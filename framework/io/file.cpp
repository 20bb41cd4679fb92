#include "framework/io/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "framework/base/interruption.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"
#include "framework/io/unwritable.h"

namespace lenslet {
namespace {

// At 64 KiB a call of the system is a small part of the copy. Chosen by hand.
constexpr size_t kReadStep = 1 << 16;
constexpr size_t kWriteBuffer = 1 << 16;

std::string reason_of(int error) { return std::strerror(error); }

// Names for remove_unfinished_files(), which may run in a signal handler at any time and reads only this array. A
// program writes fewer files than this at a time; the destructor still removes a file without a slot.
std::array<std::atomic<const char*>, 16> unfinished{};

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ > STDERR_FILENO) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISSOCK(mode)) return "a socket";
  return "a special file";
}

constexpr int kMaxLinks = 40;  // the limit of the operating system

// Waits until a non-blocking descriptor is ready; an interruption ends the wait too.
void wait_for(int descriptor, short events) noexcept {
  pollfd waiting = {descriptor, events, 0};
  ::poll(&waiting, 1, -1);
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// The descriptor of this process that `path` names, or -1. The name of the file that standard output or error is
// redirected to counts too: renaming over it would replace the file of an open stream.
int named_descriptor(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.rfind(folder, 0) != 0) continue;
    const std::optional<int> number = parse_number<int>(std::string_view(path).substr(folder.size()));
    if (number && ::fcntl(*number, F_GETFD) >= 0) return *number;
  }
  struct stat named {};
  if (::stat(path.c_str(), &named) != 0) return -1;
  if (!S_ISREG(named.st_mode) && !S_ISFIFO(named.st_mode) && !S_ISSOCK(named.st_mode)) return -1;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open {};
    const bool same =
        ::fstat(descriptor, &open) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
    const bool written = same && (::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    if (written) return descriptor;
  }
  return -1;
}

}  // namespace

std::string resolved_path(const std::string& path) {
  std::string name = path;
  char target[4096];
  int links = 0;
  for (ssize_t length; (length = ::readlink(name.c_str(), target, sizeof target)) > 0; ++links) {
    if (links == kMaxLinks) {
      errno = ELOOP;
      return {};
    }
    const std::string next(target, static_cast<size_t>(length));
    name = next.front() == '/' ? next : folder_of(name) + next;
  }
  const std::string folder = folder_of(name);
  const std::string place = real_path(folder.empty() ? "." : folder);
  if (place.empty()) return name;
  return (place == "/" ? place : place + "/") + name.substr(folder.size());
}

int open_regular_file(const std::string& path, struct stat& status) {
  if (path.empty()) throw DataError("expected the name of a file, found an empty text");
  const std::string name = printable_excerpt(path);
  // O_NONBLOCK: opening a FIFO without a writer would wait forever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) throw DataError(concat(name, ": cannot be opened: ", reason_of(errno)));
  const auto fail = [&](const std::string& what) {
    ::close(descriptor);
    throw DataError(concat(name, ": ", what));
  };
  if (::fstat(descriptor, &status) != 0) fail("cannot be read: " + reason_of(errno));
  if (!S_ISREG(status.st_mode)) fail(concat("expected a regular file, found ", kind_of(status.st_mode)));
  return descriptor;
}

std::string name_in_errors(const std::string& path) {
  return path == "-" ? "standard input" : printable_excerpt(path);
}

std::vector<uint8_t> read_file(const std::string& path, size_t max_bytes) {
  return read_file(path, [max_bytes](const std::vector<uint8_t>&) { return max_bytes; });
}

std::vector<uint8_t> read_file(const std::string& path,
                               const std::function<size_t(const std::vector<uint8_t>& head)>& limit) {
  const bool standard_input = path == "-";
  const std::string name = name_in_errors(path);
  struct stat status {};
  const Descriptor file(standard_input ? STDIN_FILENO : open_regular_file(path, status));
  if (standard_input) {
    if (::fstat(file.get(), &status) != 0)
      throw DataError(concat(name, ": cannot be read: ", reason_of(errno)));
    if (::isatty(file.get())) throw DataError("standard input: expected a file or a pipe, found a terminal");
    if (S_ISDIR(status.st_mode))
      throw DataError("standard input: expected a file or a pipe, found a directory");
  }
  std::vector<uint8_t> head(kHeadBytes);
  const ssize_t head_bytes = standard_input ? 0 : ::pread(file.get(), head.data(), head.size(), 0);
  head.resize(static_cast<size_t>(std::max<ssize_t>(head_bytes, 0)));
  const size_t max_bytes = limit(head);
  const auto too_large = [&] {
    return DataError(concat(name, ": expected a file of at most ", max_bytes, " bytes, found a larger one"));
  };
  const auto stated = static_cast<uint64_t>(std::max<off_t>(S_ISREG(status.st_mode) ? status.st_size : 0, 0));
  if (stated > max_bytes) throw too_large();

  // One byte more than stated detects the end of the file without another read; files of /proc state 0.
  std::vector<uint8_t> bytes(stated + 1);
  size_t filled = 0;
  while (true) {
    // A signal may have come before the first read, or interrupted a read or a wait.
    if (stopped()) throw InterruptedError(concat("interrupted while reading ", name));
    if (filled == bytes.size()) bytes.resize(std::max(filled + kReadStep, filled + filled / 2));
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && would_block(errno)) {
      wait_for(file.get(), POLLIN);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(concat(name, ": cannot be read: ", reason_of(errno)));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > max_bytes) throw too_large();
  }
  bytes.resize(filled);
  return bytes;
}

SignalsHeld::SignalsHeld() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsHeld::~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  for (auto& slot : unfinished) {
    const char* free = nullptr;
    if (slot.compare_exchange_strong(free, path_.c_str())) break;
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  release();
}

void UnfinishedFile::release() noexcept {
  for (auto& slot : unfinished) {
    const char* mine = path_.c_str();
    slot.compare_exchange_strong(mine, nullptr);
  }
  path_.clear();
}

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished) {
    if (const char* const path = slot.load()) ::unlink(path);
  }
}

int write_all(int descriptor, const char* data, size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && would_block(errno)) wait_for(descriptor, POLLOUT);
    if (written < 0 && !would_block(errno) && errno != EINTR) return errno;
    if (written < 0) continue;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

bool is_standard_output(const std::string& path) { return named_descriptor(path) == STDOUT_FILENO; }

bool is_stream(const std::string& path) {
  struct stat status {};
  return named_descriptor(path) >= 0 ||
         (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (const int open = named_descriptor(path); open >= 0) {
    standard_output_ = open == STDOUT_FILENO;
    // A stream that the caller closed has a placeholder, which refuses writes.
    descriptor_ = ::fcntl(open, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  // For any other reason, such as another user's link in a world-writable folder, no file is created.
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {  // a device or a FIFO cannot be replaced by renaming
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) fail(errno);
  // A symbolic link is kept: the file that it names is replaced or created.
  target_ = resolved_path(path);
  if (target_.empty() && !path.empty()) fail(errno);
  std::string name = folder_of(target_) + ".lenslet-XXXXXX";  // short, so that it fits wherever target_ does
  {
    const SignalsHeld held;
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    temporary_.emplace(name);
  }
  // mkostemp creates files readable only by their owner. The output gets the rights of the file that it replaces, or
  // the default ones.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? status.st_mode & 07777 : 0666 & ~mask;
  if (::fchmod(descriptor_, mode) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail(error);
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::fail(int error) const {
  if (standard_output_ && error == EPIPE) throw ClosedPipe();
  throw OutputError(standard_output_ ? "standard output: cannot be written: " + reason_of(error)
                                     : unwritable(path_, error));
}

void OutputFile::write(const std::string& text) {
  buffer_ += text;
  if (!temporary_ || buffer_.size() >= kWriteBuffer) flush();
}

void OutputFile::flush() {
  if (const int error = write_all(descriptor_, buffer_.data(), buffer_.size()); error != 0) fail(error);
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || (temporary_ && ::rename(temporary_->path().c_str(), target_.c_str()) != 0)) fail(errno);
  if (temporary_) temporary_->release();
}

}  // namespace lenslet
