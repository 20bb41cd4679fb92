#include "framework/base/start_thread.h"

#include <new>
#include <system_error>
#include <utility>

namespace lenslet {

std::thread start_thread(const std::string& which, std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw refused_thread(which, error.code().message());
  } catch (const std::bad_alloc&) {
    throw refused_thread(which, "out of memory");
  }
}

MemoryError refused_thread(const std::string& which, const std::string& reason) {
  return MemoryError(
      concat(which, " could not be started (", reason,
             "): use fewer threads (LENSLET_NUM_THREADS, set_num_threads), or raise the limits "
             "on address space and processes (ulimit -v, ulimit -u)"));
}

}  // namespace lenslet
