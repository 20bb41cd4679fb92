// The module `mpi`: ranks over MPI's library (MPI Forum, "MPI: A Message-Passing Interface Standard", version 3.1).
#define OMPI_SKIP_MPICXX 1  // the deprecated C++ interface, which would add a library
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "apps/common/ranks/rank_link.h"
#include "framework/base/error.h"
#include "framework/graph/module.h"

namespace lenslet {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;  // of a message: MPI 3 counts in int
constexpr useconds_t kPollUs = 500;            // a rank that waits leaves its core to those that compute

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  const bool named = MPI_Error_string(status, text, &length) == MPI_SUCCESS;
  throw DeviceError(concat(call, " failed: ", named ? text : "unknown error of MPI", " (", status, ")"));
}

class MpiLink : public RankLink {
 public:
  MpiLink() {
    int level = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    // Errors are returned, so that they become messages and exit codes of ours.
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  ~MpiLink() override { (void)MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  bool exchange(const void* mine, size_t bytes, void* all, const std::function<bool()>& wait) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE,
                             MPI_COMM_WORLD, &request),
              "MPI_Iallgather");
    for (;;) {
      int done = 0;
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return true;
      if (!wait()) return false;
      ::usleep(kPollUs);
    }
  }

  void broadcast(void* data, size_t bytes, int from) override {
    in_parts(data, bytes, [&](char* part, int length) {
      check_mpi(MPI_Bcast(part, length, MPI_BYTE, from, MPI_COMM_WORLD), "MPI_Bcast");
    });
  }

  void send(const void* data, size_t bytes) override {
    in_parts(data, bytes, [&](const char* part, int length) {
      check_mpi(MPI_Send(part, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD), "MPI_Send");
    });
  }

  void receive(int from, void* data, size_t bytes) override {
    in_parts(data, bytes, [&](char* part, int length) {
      check_mpi(MPI_Recv(part, length, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    });
  }

  void abort(int code) override { (void)MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  template <class Data, class Action>
  static void in_parts(Data* data, size_t bytes, const Action& action) {
    using Byte = std::conditional_t<std::is_const_v<Data>, const char, char>;
    for (size_t at = 0; at < bytes; at += kMaxBytes)
      action(static_cast<Byte*>(data) + at, static_cast<int>(std::min(kMaxBytes, bytes - at)));
  }

  int rank_ = 0, size_ = 1;
};

// "Open MPI v4.1.4, package: …" is cut at the first comma.
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown";
  const std::string whole(text, static_cast<size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace
}  // namespace lenslet

LENSLET_DEFINE_MODULE()
LENSLET_MODULE_EXPORT lenslet::RankLink* lenslet_mpi_link() { return new lenslet::MpiLink; }
LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  static const std::string version = lenslet::library_version();
  static const std::string path = [] {
    Dl_info info{};
    const bool found =
        dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr;
    return std::string(found ? info.dli_fname : "unknown");
  }();
  if (capacity > 0) libraries[0] = {"MPI", version.c_str(), path.c_str()};
  return 1;
}
