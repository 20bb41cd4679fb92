#include "apps/lenslet/serve/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "apps/common/output/error_line.h"
#include "apps/lenslet/serve/http/http_connection.h"
#include "framework/base/error.h"
#include "framework/base/start_thread.h"
#include "framework/base/text.h"

namespace lenslet::serve {

namespace net = boost::asio;
using net::ip::tcp;

namespace {

constexpr int64_t kOtherFiles = 64;  // open files besides the connections
// From a failed accept to the next, and between two checks whether the last connection has ended: short for a person,
// long beside the work of one repetition. Chosen by hand.
constexpr std::chrono::milliseconds kRetry(50), kPoll(10);
// All deadlines are checked kSweeps times within a client's timeout, so that one is closed at most a tenth late. The
// limits keep the checks from taking a processor, and from closing a client of a long timeout minutes late.
constexpr int kSweeps = 10;
constexpr std::chrono::milliseconds kMinSweep(5), kMaxSweep(1000);

/// Raises the limit of open files, and returns how many connections it permits, at most `wanted`.
int64_t permit_connections(int64_t wanted) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const auto needed = static_cast<rlim_t>(wanted + kOtherFiles);
  if (limit.rlim_cur < needed) {
    rlimit raised = limit;
    raised.rlim_cur = std::min(limit.rlim_max, needed);
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0)
      limit = raised;  // otherwise fewer connections are permitted
  }
  const auto permitted = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, needed));
  return std::max<int64_t>(1, permitted - kOtherFiles);
}

bool out_of_files(const boost::system::error_code& error) {
  namespace reasons = boost::system::errc;
  return error == reasons::too_many_files_open || error == reasons::too_many_files_open_in_system;
}

tcp::endpoint endpoint_of(const HttpServerOptions& options) {
  boost::system::error_code error;
  const std::string& name = options.address;
  const net::ip::address address = net::ip::make_address(name == "localhost" ? "127.0.0.1" : name, error);
  if (error)
    throw UsageError(
        concat("--host expects an IP address or localhost, found '", printable_excerpt(name, 80), "'"));
  return {address, static_cast<unsigned short>(options.port)};
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(const HttpServerOptions& options, HttpService& service, ConnectionCounts& counts)
      : context_(options, service, counts),
        max_connections_(permit_connections(options.max_connections)),
        loops_(static_cast<size_t>(options.threads)),
        acceptor_(loops_.front().io),
        retry_(loops_.front().io),
        sweep_(loops_.front().io) {
    open();
    accept();
    sweep();
    threads_.reserve(loops_.size());
    try {
      for (Loop& loop : loops_) {
        threads_.push_back(start_thread(concat("thread ", threads_.size() + 1, " of ", loops_.size()),
                                        [this, &loop] { run(loop.io); }));
      }
    } catch (...) {  // the system refused a thread
      stop();
      throw;
    }
  }

  ~Listener() { stop(); }

  void stop() {
    for (Loop& loop : loops_) loop.io.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const std::string& url() const noexcept { return url_; }
  int64_t max_connections() const noexcept { return max_connections_; }

  bool drain() {
    context_.draining = true;
    net::post(acceptor_.get_executor(), [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      retry_.cancel();
    });
    const auto end = std::chrono::steady_clock::now() + context_.options.timeout;
    while (context_.counts.open > 0) {
      if (std::chrono::steady_clock::now() >= end) return false;
      close_waiting();  // also those that were just accepted
      std::this_thread::sleep_for(kPoll);
    }
    return true;
  }

 private:
  /// The loop of one thread. A connection stays with its loop, so that threads share neither a queue nor its lock.
  struct Loop final : Executor {
    /// Opens a socket, which opens the files of its loop. Later the system may have no more, and accept() would then
    /// fail for good.
    Loop() { const tcp::socket first(io); }
    void run(std::function<void()> task) override { net::post(io, std::move(task)); }
    net::io_context io{1};
    net::executor_work_guard<net::io_context::executor_type> work{io.get_executor()};
  };

  void open() {
    const tcp::endpoint endpoint = endpoint_of(context_.options);
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (out_of_files(error)) throw boost::system::system_error(error);
    if (error)
      throw UsageError(concat("cannot listen at ", context_.options.address, " port ", context_.options.port,
                              ": ", error.message(),
                              error == boost::system::errc::address_not_available
                                  ? "; --host expects an address of this machine"
                                  : "; --port 0 takes a free port"));
    const tcp::endpoint own = acceptor_.local_endpoint();
    const std::string address = own.address().to_string();
    url_ = concat("http://", own.address().is_v6() ? "[" + address + "]" : address, ":", own.port());
  }

  /// Counts the pending accept handlers. Asio calls each or, out of memory, destroys it uncalled.
  class Turn {
   public:
    explicit Turn(int& turns) : turns_(&turns) { ++turns; }
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn(const Turn&) = delete;
    ~Turn() {
      if (turns_) --*turns_;
    }

   private:
    int* turns_;
  };

  void accept() {
    next_ = (next_ + 1) % loops_.size();
    Loop& loop = loops_[next_];
    acceptor_.async_accept(
        loop.io, [this, &loop, turn = Turn(turns_)](boost::system::error_code error, Socket socket) mutable {
          if (context_.draining) return;
          if (error) {  // such as no more files: waits until some are closed
            retry_.expires_after(kRetry);
            retry_.async_wait([this, later = std::move(turn)](boost::system::error_code) {
              if (!context_.draining) accept();
            });
            return;
          }
          accept();  // first, since the next call may throw without memory
          take(std::move(socket), loop);
        });
  }

  void take(Socket socket, Loop& loop) {
    if (context_.counts.open >= max_connections_) {
      ++context_.counts.refused;
      return;
    }
    ++context_.counts.accepted;
    boost::system::error_code error;
    socket.set_option(tcp::no_delay(true), error);
    socket.non_blocking(true, error);
    if (error) return;  // the client is gone
    std::make_shared<Connection>(std::move(socket), loop, context_)->start();
  }

  /// The connections for which `wanted` holds. To be released without the mutex, which their destructor takes.
  template <typename Wanted>
  std::vector<std::shared_ptr<Connection>> connections(const Wanted& wanted) {
    std::vector<std::shared_ptr<Connection>> found;
    const std::lock_guard<std::mutex> lock(context_.mutex);
    for (Connection* const connection : context_.open)
      if (wanted(*connection))
        if (std::shared_ptr<Connection> alive = connection->weak_from_this().lock())
          found.push_back(std::move(alive));
    return found;
  }

  void close_waiting() {
    for (const auto& connection : connections([](const Connection&) { return true; }))
      connection->close_if_waiting();
  }

  /// Closes the connections whose clients have exceeded their time.
  void sweep() {
    sweep_.expires_after(std::clamp(context_.options.timeout / kSweeps, kMinSweep, kMaxSweep));
    sweep_.async_wait([this](boost::system::error_code) {
      sweep();  // sets the next timer first, since the rest may throw without memory
      const auto now = std::chrono::steady_clock::now();
      for (const auto& connection : connections([&](const Connection& one) { return one.is_late(now); }))
        connection->close_if_late(now);
    });
  }

  void run(net::io_context& io) noexcept {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {  // only the connection that ran out of memory ends
        write_error_line("lenslet", {"a connection was dropped: ", error.what()});
      }
      if (&io == &loops_.front().io) resume_accepting();
    }
  }

  /// Accepts again, as soon as there is memory, after an exception has ended it.
  void resume_accepting() noexcept {
    while (turns_ == 0 && !context_.draining && !loops_.front().io.stopped()) {
      try {
        accept();
      } catch (const std::exception&) {
        std::this_thread::sleep_for(kRetry);
      }
    }
  }

  ConnectionContext context_;
  const int64_t max_connections_;
  int turns_ = 0;  // of the first loop's thread; before the loops, whose end drops handlers
  std::deque<Loop> loops_;
  size_t next_ = 0;  // the loop of the next connection
  tcp::acceptor acceptor_;
  net::steady_timer retry_, sweep_;
  std::string url_;
  std::vector<std::thread> threads_;
};

void HttpServer::check_available() {}

HttpServer::HttpServer(const HttpServerOptions& options, HttpService& service, ConnectionCounts& counts) {
  try {
    listener_ = std::make_unique<Listener>(options, service, counts);
  } catch (const boost::system::system_error& error) {
    if (!out_of_files(error.code())) throw;
    throw MemoryError(concat("the server needs more open files than the system permits (", error.what(),
                             "): raise the limit (ulimit -n)"));
  }
}
HttpServer::~HttpServer() = default;
std::string HttpServer::url() const { return listener_->url(); }
int64_t HttpServer::max_connections() const noexcept { return listener_->max_connections(); }
void HttpServer::stop() { listener_->stop(); }
bool HttpServer::drain() { return listener_->drain(); }

}  // namespace lenslet::serve
