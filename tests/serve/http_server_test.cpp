// HttpServer in this process, with a service that computes nothing: threads, lifetimes and limits, also under the
// sanitizers. sockets_test.py tests the program.
#include "apps/lenslet/serve/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <thread>

#include "apps/lenslet/serve/service.h"
#include "framework/base/error.h"
#include "tests/serve/fixture.h"
#include "tests/support/allocation_counter.h"

namespace lenslet::serve::test {
namespace {

/// A client's socket.
class Client {
 public:
  Client() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  explicit Client(const std::string& url) : Client() { connect(url); }
  Client(const Client&) = delete;
  ~Client() { ::close(socket_); }

  void connect(const std::string& url) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {30, 0};  // a server that forgets a client fails a test instead of stopping it
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }

  bool connected() const { return connected_; }
  /// The address that the server sees.
  sockaddr_in address() const {
    sockaddr_in own = {};
    socklen_t length = sizeof own;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &length);
    return own;
  }
  void send(const std::string& text) { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// What comes until `end` is in it, or the server closes.
  std::string receive(const std::string& end = "") {
    std::string text;
    char bytes[4096];
    for (;;) {
      if (!end.empty() && text.find(end) != std::string::npos) return text;
      const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count <= 0) return text;
      text.append(bytes, static_cast<size_t>(count));
    }
  }
  /// Closing then resets the connection, as the end of a killed process may.
  void reset_at_close() {
    const linger at_once = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// An option of the socket with which the server, in this process, talks to the client; -1 if there is none.
int tcp_option_of_peer(const Client& client, int option) {
  constexpr int kMaxFiles = 1024;
  for (int file = 0; file < kMaxFiles; ++file) {
    sockaddr_in peer = {};
    socklen_t length = sizeof peer;
    if (::getpeername(file, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    const sockaddr_in sought = client.address();
    if (peer.sin_port != sought.sin_port || peer.sin_addr.s_addr != sought.sin_addr.s_addr) continue;
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(file, IPPROTO_TCP, option, &value, &size) == 0) return value;
  }
  return -1;
}

std::string post(const std::string& body, const std::string& more = "") {
  return concat("POST /v2/models/mymodel/infer HTTP/1.1\r\nHost: localhost\r\n", more,
                "Content-Length: ", body.size(), "\r\n\r\n", body);
}

const std::string kHome = [] {  // longer than the sockets hold
  std::string text(8 << 20, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + (i ^ i >> 7 ^ i >> 15) % 26);
  return text;
}();

class ServeHttp : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    options.port = 0;
    options.threads = 3;
    ServiceOptions settings;
    settings.signature = my_model();
    settings.home = kHome;
    service_ = std::make_unique<Service>(settings,
                                         Computation{[this](const Samples& samples, int64_t /*count*/) {
                                                       std::unique_lock<std::mutex> lock(mutex_);
                                                       ++computing_;
                                                       changed_.notify_all();
                                                       changed_.wait(lock, [&] { return open_; });
                                                       return samples.values;
                                                     },
                                                     [](const auto&) { return std::string("{}"); },
                                                     {},
                                                     at_once_},
                                         counts_);
    server_ = std::make_unique<HttpServer>(options, *service_, counts_);
  }
  void TearDown() override {
    let_compute();
    if (!server_) return;
    server_->stop();
    service_.reset();
    server_.reset();
    EXPECT_EQ(counts_.open, 0);
    EXPECT_EQ(counts_.body_bytes, 0);
  }
  void let_compute(bool open = true) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void wait_until_computing() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return computing_ > 0; });
  }
  /// Waits until a request is being computed. False if its connection was closed before.
  bool computes() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (computing_ == 0) {
      if (counts_.timed_out > 0) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return true;
  }
  /// Calls `test` with a server's time limit. `test` returns false if a busy machine delayed the client beyond the
  /// limit; it is then called with a longer one.
  void expect_in_time(const std::function<bool(const HttpServerOptions&)>& test) {
    for (const int ms : {100, 1000, 10000}) {
      HttpServerOptions hurried;
      hurried.timeout = std::chrono::milliseconds(ms);
      if (test(hurried)) return;
      TearDown();
      counts_.timed_out = 0;
      computing_ = 0;
    }
    FAIL() << "the server closed a client before it could send its request";
  }
  void expect_served() {
    Client client(server_->url());
    client.send(post(example("nested.json"), "Connection: close\r\n"));
    EXPECT_NE(client.receive().find("\"data\":[1,2,3,4]"), std::string::npos);
  }

  /// The answer to a request without keep-alive, which the server closes.
  std::string answer_to(const std::string& request) {
    Client client(server_->url());
    client.send(request);
    return client.receive();
  }

  Batcher::AtOnce at_once_;  // of the service that start() makes
  ConnectionCounts counts_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int computing_ = 0;
};

TEST_F(ServeHttp, ServesManyClientsAtATime) {
  start();
  std::vector<std::thread> clients;
  clients.reserve(6);
  std::atomic<int> answers{0};
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&, i] {
      Client client(server_->url());
      for (int turn = 0; turn < 30; ++turn) {
        const std::string value = std::to_string(100 * i + turn);
        client.send(post(request_json(R"("shape":[1,2],"datatype":"FP32","data":[7,)" + value + "]")));
        answers += client.receive("]}]}").find("\"data\":[7," + value + "]") != std::string::npos;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answers, 180);
}

// A sample that is computed on its connection's thread holds up the connections of that thread alone.
TEST_F(ServeHttp, SharesTheConnectionsAmongItsThreads) {
  int inside = 0, met = 0;
  at_once_ = [&](const Samples& sample, std::vector<float>& outputs) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++inside;
    changed_.notify_all();
    met += changed_.wait_for(lock, std::chrono::seconds(10), [&] { return inside == 3; });
    outputs = sample.values;
    return true;
  };
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(server_->url()));
    clients.back()->send(
        post(request_json(R"("shape":[1,2],"datatype":"FP32","data":[3,4])"), "Connection: close\r\n"));
  }
  for (const auto& client : clients) EXPECT_NE(client->receive().find("\"data\":[3,4]"), std::string::npos);
  EXPECT_EQ(met, 3) << "one waited for another";
}

TEST_F(ServeHttp, AcceptsAgainOnceTheSystemPermitsMoreFiles) {
  start();
  Client client;
  const std::string request = post(example("nested.json"), "Connection: close\r\n");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};  // of further files; open ones stay
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  client.connect(server_->url());
  client.send(request);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(counts_.accepted, 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NE(client.receive().find("\"data\":[1,2,3,4]"), std::string::npos);
}

// The server drops the client that it has no memory for, and accepts again.
TEST_F(ServeHttp, AcceptsAgainOnceThereIsMemory) {
  start();
  std::vector<std::unique_ptr<Client>> clients;  // for whom each of the threads has used what it keeps
  for (int64_t i = 1; i <= 8; ++i) {
    clients.push_back(std::make_unique<Client>(server_->url()));
    while (counts_.open < i) std::this_thread::yield();
  }
  testing::internal::CaptureStderr();
  {
    const NoMemoryElsewhere now;
    EXPECT_EQ(Client(server_->url()).receive(), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::string line = "lenslet: error: a connection was dropped: std::bad_alloc\n";  // once or more
  std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_NE(lines, "");
  while (lines.rfind(line, 0) == 0) lines.erase(0, line.size());
  EXPECT_EQ(lines, "") << "a line is cut";
  expect_served();
  expect_served();
}

// Answers are not held back to be sent together.
TEST_F(ServeHttp, ListensAtEveryAddressAndSendsAtOnce) {
  HttpServerOptions everywhere;
  everywhere.address = "0.0.0.0";
  start(everywhere);
  EXPECT_EQ(server_->url().rfind("http://0.0.0.0:", 0), 0u) << server_->url();
  Client client(server_->url());
  client.send(post(example("nested.json")));
  EXPECT_NE(client.receive("]}]}").find("\"data\":[1,2,3,4]"), std::string::npos);
  EXPECT_EQ(tcp_option_of_peer(client, TCP_NODELAY), 1);
}

// In a process of its own, whose limit cannot be raised again.
TEST_F(ServeHttp, PermitsAsManyConnectionsAsFiles) {
  const auto permitted = [&](int64_t wanted) {
    const rlimit few{100, 200};
    HttpServerOptions options;
    options.max_connections = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) std::_Exit(2);
    start(options);
    std::_Exit(server_->max_connections() == std::min<int64_t>(wanted, 200 - 64) ? 0 : 1);
  };
  EXPECT_EXIT(permitted(10), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(permitted(10000), testing::ExitedWithCode(0), "");
}

TEST_F(ServeHttp, AnswersHeadWithoutABody) {
  start();
  const std::string request = " /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string got = answer_to("GET" + request), head = answer_to("HEAD" + request);
  EXPECT_EQ(head, got.substr(0, got.find("\r\n\r\n") + 4));
  EXPECT_LT(head.size(), got.size());
}

// A proxy may have taken the other one.
TEST_F(ServeHttp, TakesNoFieldTwiceThatMustBeSingle) {
  start();
  const auto ask = [&](const std::string& fields) {
    return answer_to("GET /v2 HTTP/1.1\r\n" + fields + "Connection: close\r\n\r\n").substr(0, 12);
  };
  const std::string host = "Host: localhost\r\n", origin = "Origin: http://localhost\r\n";
  EXPECT_EQ(ask(host + origin), "HTTP/1.1 200");
  EXPECT_EQ(ask(host + host), "HTTP/1.1 403");
  EXPECT_EQ(ask(host + origin + origin), "HTTP/1.1 403");
  const std::string json = example("binary.json");
  const std::string length = concat("Inference-Header-Content-Length: ", json.size(), "\r\n");
  const auto infer = [&](const std::string& fields) {
    return answer_to(post(json + bytes_of({1, 2, 3, 4}), "Connection: close\r\n" + fields)).substr(0, 12);
  };
  EXPECT_EQ(infer(length), "HTTP/1.1 200");
  EXPECT_EQ(infer(length + length), "HTTP/1.1 400");
}

int times_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// More answers than the sockets between them hold: some are written in parts. Each is begun by the end of the one
// before, without a deeper stack.
TEST_F(ServeHttp, AnswersManyRequestsSentTogether) {
  start();
  constexpr int kRequests = 20000;
  Client client(server_->url());
  std::thread sender([&] {
    std::string requests;
    for (int i = 0; i + 1 < kRequests; ++i)
      requests += "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    client.send(requests + "GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // so that the server finds the socket full
  const std::string answers = client.receive();
  sender.join();
  EXPECT_EQ(times_in(answers, "HTTP/1.1 200 OK\r\n"), kRequests);
  EXPECT_EQ(times_in(answers, "{\"live\":true}"), kRequests - 1);
  EXPECT_EQ(times_in(answers, "binary_tensor_data"), 1);
}

TEST_F(ServeHttp, SendsALongAnswerInParts) {
  start();
  Client client(server_->url());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that the server finds the socket full
  const std::string answer = client.receive();
  EXPECT_TRUE(answer.substr(answer.find("\r\n\r\n") + 4) == kHome);
}

TEST_F(ServeHttp, TakesARequestInPieces) {
  start();
  const std::string whole = post(example("nested.json"));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, whole.size() - 1}) {
    Client client(server_->url());
    for (size_t at = 0; at < whole.size(); at += piece) {
      client.send(whole.substr(at, piece));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_NE(client.receive("]}]}").find("\"data\":[1,2,3,4]"), std::string::npos) << piece;
  }
  Client large(server_->url());  // longer than any buffer
  large.send(post(example("nested.json") + std::string(1 << 20, ' '), "Connection: close\r\n"));
  EXPECT_NE(large.receive().find("\"data\":[1,2,3,4]"), std::string::npos);
}

// The server does not parse a header again that has the bytes of the last.
TEST_F(ServeHttp, AnswersEachRequestOfARepeatedHeader) {
  start();
  Client client(server_->url());
  const auto values = [](const std::string& two) {
    return post(request_json(R"("shape":[1,2],"datatype":"FP32","data":[)" + two + "]"));
  };
  const auto expect_answer = [&](const std::string& two) {
    EXPECT_NE(client.receive("]}]}").find("\"data\":[" + two + "]"), std::string::npos) << two;
  };
  for (const char* two : {"1,2", "3,4", "5,6", "77,8", "99,1", "2,3"}) {  // two lengths
    client.send(values(two));
    expect_answer(two);
  }
  const std::string whole = values("4,5"), ready = "GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const size_t piece : {whole.size() - 9, size_t{9}}) {
    client.send(whole.substr(0, piece));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client.send(whole.substr(piece));
    expect_answer("4,5");
  }
  const std::string asking =
      post(request_json(R"("shape":[1,2],"datatype":"FP32","data":[5,6])"), "Expect: 100-continue\r\n");
  for (int turn = 0; turn < 2; ++turn) {
    client.send(asking);
    EXPECT_EQ(times_in(client.receive("[5,6]}]}"), "100 Continue"), 1) << turn;
  }
  client.send(values("6,7") + values("8,9") + ready);
  const std::string answers = client.receive("{\"ready\":true}");
  EXPECT_LT(answers.find("[6,7]"), answers.find("[8,9]"));
  EXPECT_LT(answers.find("[8,9]"), answers.find("ready"));
  client.send(values("1,1"));
  expect_answer("1,1");
  const std::string head = "HEAD" + ready.substr(3),
                    last = "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n";
  client.send(head + head + last + "Connection: close\r\n\r\n");
  const std::string bare = client.receive();
  EXPECT_EQ(times_in(bare, "HTTP/1.1 200 OK"), 3);
  EXPECT_EQ(times_in(bare, "ready"), 0);
  EXPECT_EQ(times_in(bare, "live"), 1);
}

// A header that came in pieces is not kept: its last piece alone would be taken for a request.
TEST_F(ServeHttp, TakesNoRestOfAHeaderForARequest) {
  start();
  const std::string whole = post(example("nested.json"));
  const size_t head = whole.find("\r\n\r\n"), line = whole.find("\r\n") + 2;
  for (const size_t cut : {line, whole.find("\r\n", line) + 2, line + 4, head + 2, head + 3}) {
    Client client(server_->url());
    client.send(whole.substr(0, cut));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    client.send(whole.substr(cut));
    EXPECT_NE(client.receive("]}]}").find("\"data\":[1,2,3,4]"), std::string::npos) << cut;
    client.send(whole.substr(cut));
    const std::string rest = client.receive();
    EXPECT_EQ(times_in(rest, "HTTP/1.1 400"), 1) << cut;
    EXPECT_EQ(times_in(rest, "HTTP/1.1 200"), 0) << cut;
  }
}

TEST_F(ServeHttp, BoundsTheBodiesOfRepeatedHeaders) {
  const std::string request = post(example("nested.json"));
  HttpServerOptions small;
  small.max_bodies = example("nested.json").size() * 3 / 2;
  start(small);
  Client first(server_->url()), second(server_->url());
  for (Client* const client : {&first, &second}) {
    client->send(request);
    EXPECT_NE(client->receive("]}]}").find("\"data\":[1,2,3,4]"), std::string::npos);
  }
  let_compute(false);
  first.send(request);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return computing_ == 3; });
  }
  second.send(request);
  EXPECT_NE(second.receive("\r\n\r\n").find("HTTP/1.1 503"), std::string::npos);
  let_compute();
  EXPECT_NE(first.receive("]}]}").find("\"data\":[1,2,3,4]"), std::string::npos);
}

TEST_F(ServeHttp, OutlivesClientsThatVanish) {
  start();
  const std::string whole = post(example("nested.json"));
  for (size_t i = 0; i < 60; ++i) {
    Client client(server_->url());
    if (i % 2 == 0) client.reset_at_close();
    client.send(whole.substr(0, whole.size() * i / 50));
  }
  expect_served();
}

TEST_F(ServeHttp, DrainsWhatItReceived) {
  start();
  let_compute(false);
  Client idle(server_->url()), asking(server_->url());
  asking.send(post(example("nested.json")));
  wait_until_computing();
  std::thread drain([&] { EXPECT_TRUE(server_->drain()); });
  EXPECT_EQ(idle.receive(), "");
  let_compute();
  const std::string answer = asking.receive();
  EXPECT_NE(answer.find("\"data\":[1,2,3,4]"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  drain.join();
  EXPECT_FALSE(Client(server_->url()).connected());
}

// A race between the thread that accepts and the one that drains, which ThreadSanitizer would see.
TEST_F(ServeHttp, DrainsConnectionsThatJustCame) {
  for (int turn = 0; turn < 20; ++turn) {
    start();
    Client client(server_->url());
    while (counts_.open == 0) std::this_thread::yield();
    EXPECT_TRUE(server_->drain());
    EXPECT_EQ(client.receive(), "");
    TearDown();
  }
}

// The answer comes after the end of its connection.
TEST_F(ServeHttp, EndsBesideAComputationThatTakesTooLong) {
  expect_in_time([&](const HttpServerOptions& hurried) {
    start(hurried);
    let_compute(false);
    Client asking(server_->url());
    asking.send(post(example("nested.json")));
    if (!computes()) return false;
    EXPECT_FALSE(server_->drain());
    server_->stop();
    let_compute();
    service_.reset();
    server_.reset();
    EXPECT_EQ(counts_.open, 0);
    EXPECT_EQ(asking.receive(), "");
    return true;
  });
}

TEST_F(ServeHttp, ClosesClientsThatTakeTooLong) {
  HttpServerOptions hurried;
  hurried.timeout = std::chrono::milliseconds(100);
  start(hurried);
  Client idle(server_->url()), header(server_->url()), body(server_->url());
  header.send("GET /v2 HT");
  const std::string whole = post(example("nested.json"));
  body.send(whole.substr(0, whole.size() - 1));
  for (Client* client : {&idle, &header, &body}) EXPECT_EQ(client->receive(), "");
  // A socket is closed before it is counted.
  for (int i = 0; i < 3000 && counts_.timed_out < 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(counts_.timed_out, 3);
}

TEST_F(ServeHttp, AnswersAfterAComputationThatTakesLongerThanAClientMay) {
  expect_in_time([&](const HttpServerOptions& hurried) {
    start(hurried);
    let_compute(false);
    Client asking(server_->url());
    asking.send(post(example("nested.json"), "Connection: close\r\n"));
    if (!computes()) return false;
    std::this_thread::sleep_for(3 * hurried.timeout);
    let_compute();
    EXPECT_NE(asking.receive().find("\"data\":[1,2,3,4]"), std::string::npos);
    EXPECT_EQ(counts_.timed_out, 0);
    return true;
  });
}

TEST_F(ServeHttp, ClosesAClientThatStaysAfterItsLastAnswer) {
  expect_in_time([&](const HttpServerOptions& hurried) {
    start(hurried);
    Client staying(server_->url());
    staying.send(post(example("nested.json"), "Connection: close\r\n"));
    const std::string answer = staying.receive();
    if (counts_.timed_out > 0) return false;
    EXPECT_NE(answer.find("\"data\":[1,2,3,4]"), std::string::npos);
    for (int i = 0; i < 3000 && counts_.open > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(counts_.open, 0);
    EXPECT_EQ(counts_.timed_out, 0);  // it broke no rule
    return true;
  });
}

TEST_F(ServeHttp, BoundsConnectionsAndBodies) {
  HttpServerOptions small;
  small.max_connections = 2;
  small.max_body = 1000;
  small.max_bodies = 1500;
  start(small);
  Client first(server_->url()), second(server_->url());
  const std::string begun =
      "POST /classify HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n";
  first.send(begun);
  EXPECT_NE(first.receive("\r\n\r\n").find("100 Continue"), std::string::npos);
  EXPECT_EQ(counts_.body_bytes, 1000);
  Client third(server_->url());
  EXPECT_EQ(third.receive(), "");  // beyond the connections
  EXPECT_EQ(counts_.refused, 1);
  second.send(begun);
  EXPECT_NE(second.receive().find("HTTP/1.1 503"), std::string::npos);  // beyond the bodies
  first.send(std::string(1000, 'x'));
  EXPECT_NE(first.receive("{}").find("HTTP/1.1 200"), std::string::npos);
  first.send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_NE(first.receive().find("HTTP/1.1 413"), std::string::npos);
}

TEST_F(ServeHttp, RefusesAPortThatIsTakenAndANameThatIsNoAddress) {
  start();
  HttpServerOptions taken;
  taken.port = std::stoi(server_->url().substr(server_->url().rfind(':') + 1));
  EXPECT_THROW(HttpServer(taken, *service_, counts_), UsageError);
  taken.address = "nowhere.example";
  EXPECT_THROW(HttpServer(taken, *service_, counts_), UsageError);
}

}  // namespace
}  // namespace lenslet::serve::test
