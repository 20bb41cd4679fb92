// beast_echo THREADS FILE: the least that a server of Boost.Beast does for a request. serve_load.py measures it beside
// `lenslet serve`: both read the same requests, and this one answers each with the response that FILE holds, which is
// one of `lenslet serve`. It computes nothing, parses no JSON, and has no time limits.
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;
using net::ip::tcp;
using Response = http::response<http::string_body>;

// Nothing if the file is no HTTP response.
std::optional<Response> read_response(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  beast::error_code error;
  parser.put(net::buffer(bytes), error);
  if (error || !parser.is_done()) return std::nullopt;
  return parser.release();
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const Response& answer) : stream_(std::move(socket)), answer_(answer) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(size_t{256} << 20);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = answer_;
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->read();
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  boost::optional<http::request_parser<http::string_body>> parser_;
  const Response& answer_;
  Response response_;
};

// One loop for each thread, as lenslet serve has them.
void accept(std::deque<net::io_context>& loops, size_t next, tcp::acceptor& acceptor,
            const Response& answer) {
  acceptor.async_accept(loops[next], [&, next](beast::error_code error, tcp::socket socket) {
    if (error && error != net::error::connection_aborted) {
      // Such as no descriptor left: it would come again at once, and again. Requests without an answer fail the row.
      std::cerr << "beast_echo: accept: " << error.message() << '\n';
      return;
    }
    if (!error) {
      socket.set_option(tcp::no_delay(true), error);
      std::make_shared<Session>(std::move(socket), answer)->read();
    }
    accept(loops, (next + 1) % loops.size(), acceptor, answer);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[1]) : 0;
  if (count < 1) {
    std::cerr << "usage: beast_echo THREADS FILE\n";
    return 2;
  }
  const std::optional<Response> answer = read_response(argv[2]);
  if (!answer) {
    std::cerr << "beast_echo: " << argv[2] << " is no HTTP response\n";
    return 3;
  }
  std::deque<net::io_context> loops;
  std::vector<net::executor_work_guard<net::io_context::executor_type>> work;
  work.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) work.emplace_back(loops.emplace_back(1).get_executor());
  tcp::acceptor acceptor(loops.front(), {net::ip::make_address("127.0.0.1"), 0});
  accept(loops, 0, acceptor, *answer);
  std::cout << "serving at http://127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
  std::vector<std::thread> threads;
  threads.reserve(loops.size());
  for (net::io_context& loop : loops) threads.emplace_back([&loop] { loop.run(); });
  for (std::thread& thread : threads) thread.join();
}
