// Service: which request gets which response, without sockets.
#include "apps/lenslet/serve/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/lenslet/serve/http/guard.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "tests/serve/fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet::serve::test {
namespace {

using Json = nlohmann::json;

HttpHead head(const std::string& method, const std::string& target) {
  HttpHead result;
  result.method = method;
  result.target = target;
  result.host = "127.0.0.1:8080";
  return result;
}

class ServeService : public testing::Test {
 protected:
  ServeService() : service_(options(), {infer, classify, page}, connections_) {}

  static ServiceOptions options() {
    ServiceOptions result;
    result.signature = my_model();
    result.host_names = {"Digits.example"};
    result.home = "<p>";
    result.home_policy = "default-src 'none'";
    return result;
  }
  static std::vector<float> infer(const Samples& samples, int64_t /*count*/) {
    std::vector<float> outputs = samples.values;
    if (outputs.at(0) == -1) throw std::runtime_error("the device is broken");
    for (float& output : outputs) output *= 10;
    return outputs;
  }
  static std::string classify(const std::vector<uint8_t>& picture) {
    if (picture.empty()) throw DataError("picture: it is empty");
    if (picture.size() == kTooLarge) throw std::bad_alloc();
    return "{\"bytes\":" + std::to_string(picture.size()) + "}";
  }

  static std::string page(const PageRequest& request) {
    std::string text = concat(request.part, " ", request.body.size());
    for (const auto& [key, value] : request.query) text += concat(" ", key, "=", value);
    return text;
  }

  /// The response, as a server asks for it.
  HttpResponse ask(const HttpHead& head, const std::string& body = "") {
    if (std::optional<HttpResponse> refused = service_.refuse(head)) return *refused;
    std::mutex mutex;
    std::condition_variable came;
    std::optional<HttpResponse> response;
    const auto respond = [&](HttpResponse answer) {
      const std::lock_guard<std::mutex> lock(mutex);
      response = std::move(answer);
      came.notify_all();
    };
    service_.handle(head, body, respond, nullptr);
    std::unique_lock<std::mutex> lock(mutex);
    came.wait(lock, [&] { return response.has_value(); });
    return *response;
  }
  HttpResponse get(const std::string& target) { return ask(head("GET", target)); }
  HttpResponse post(const std::string& target, const std::string& body) {
    return ask(head("POST", target), body);
  }

  static std::string error_of(const HttpResponse& response) { return Json::parse(response.body).at("error"); }

  static constexpr size_t kTooLarge = 7;  // bytes of a picture that takes more memory than there is
  ConnectionCounts connections_;
  Service service_;
};

TEST_F(ServeService, AnswersTheProtocolsPaths) {
  EXPECT_EQ(get("/v2").status, 200);
  EXPECT_EQ(get("/v2").body, get("/v2/").body);
  EXPECT_EQ(get("/v2/health/live").body, "{\"live\":true}");
  EXPECT_EQ(get("/v2/health/ready").body, "{\"ready\":true}");
  EXPECT_EQ(get("/v2/models/mymodel/ready").body, "{\"name\":\"mymodel\",\"ready\":true}");
  EXPECT_EQ(get("/v2/models/mymodel/versions/1/ready").status, 200);
  EXPECT_EQ(Json::parse(get("/v2/models/mymodel").body)["name"], "mymodel");
  EXPECT_EQ(get("/v2/models/mymodel/versions/1").body, get("/v2/models/mymodel").body);
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(ask(head("HEAD", "/v2/health/live?verbose=1")).status, 200);
}

TEST_F(ServeService, RefusesOtherPathsModelsAndMethods) {
  for (const char* path :
       {"/v1", "/v2/models", "/v2/models/", "/v2/models/mymodel/", "/v2/models/mymodel/x",
        "/v2/models/mymodel/versions", "/v2/models/mymodel/versions//infer", "/../etc/passwd",
        "/v2/models/mymodel/infer/x", "http://x/v2", "", "*", "/classify/x", "/v2//health/live"})
    EXPECT_EQ(ask(head("GET", path)).status, 404) << path;
  EXPECT_EQ(error_of(get("/v2/models/other")), "unknown model 'other'; here is 'mymodel'");
  EXPECT_EQ(error_of(get("/v2/models/mymodel/versions/2")), "the model 'mymodel' has only version 1");
  EXPECT_EQ(post("/v2/models/other/infer", "{}").status, 404);
  const HttpResponse wrong = get("/v2/models/mymodel/infer");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.fields, (std::vector<std::pair<std::string, std::string>>{{"Allow", "POST"}}));
  EXPECT_EQ(post("/v2", "").status, 405);
  EXPECT_EQ(post("/v2", "").fields,
            (std::vector<std::pair<std::string, std::string>>{{"Allow", "GET, HEAD"}}));
  EXPECT_EQ(ask(head("DELETE", "/v2")).status, 405);
}

TEST_F(ServeService, Infers) {
  const HttpResponse flat = post("/v2/models/mymodel/infer", example("flat.json"));
  EXPECT_EQ(flat.status, 200) << flat.body;
  EXPECT_EQ(flat.type, "application/json");
  EXPECT_EQ(Json::parse(flat.body)["outputs"][0]["data"], Json({10, 20, 30, 40}));
  EXPECT_EQ(Json::parse(flat.body)["id"], "42");

  const std::string json = example("binary.json");
  HttpHead binary = head("POST", "/v2/models/mymodel/versions/1/infer");
  binary.json_bytes = std::to_string(json.size());
  const HttpResponse answer = ask(binary, json + bytes_of({1, 2, 3, 4}));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.type, "application/octet-stream");
  ASSERT_EQ(answer.fields.size(), 1u);
  EXPECT_EQ(answer.fields[0].first, "Inference-Header-Content-Length");
  EXPECT_EQ(answer.body.substr(std::stoul(answer.fields[0].second)), bytes_of({10, 20, 30, 40}));
}

TEST_F(ServeService, ExplainsWhatItCannotInfer) {
  EXPECT_EQ(post("/v2/models/mymodel/infer", "{").status, 400);
  for (const char* length : {"", "-1", "12x", "99999999999999999999"}) {
    HttpHead binary = head("POST", "/v2/models/mymodel/infer");
    binary.json_bytes = length;
    EXPECT_EQ(ask(binary, "{}").status, 400) << length;
  }
  const HttpResponse broken =
      post("/v2/models/mymodel/infer", request_json(R"("shape":[1,2],"datatype":"FP32","data":[-1,0])"));
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(error_of(broken), "the device is broken");
  HttpHead packed = head("POST", "/v2/models/mymodel/infer");
  packed.content_encoding = "gzip";
  EXPECT_EQ(ask(packed, "x").status, 415);
  packed.content_encoding = "Identity";
  EXPECT_EQ(ask(packed, example("flat.json")).status, 200);
}

TEST_F(ServeService, AnswersThePage) {
  const HttpResponse home = get("/");
  EXPECT_EQ(home.body, "<p>");
  EXPECT_EQ(home.type, "text/html; charset=utf-8");
  EXPECT_EQ(home.fields, (std::vector<std::pair<std::string, std::string>>{
                             {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}}));
  EXPECT_EQ(get("/page/network").body, "network 0");
  EXPECT_EQ(post("/page/look?digit=1&backends=conv2%3Ddirect%2cfc1=a+b", "123").body,
            "look 3 backends=conv2=direct,fc1=a b digit=1");
  EXPECT_EQ(get("/page/look").status, 405);
  EXPECT_EQ(post("/page/network", "").status, 405);
  for (const char* path : {"/page", "/page/", "/page/index.html", "/page/look/x", "/page/..%2fetc"})
    EXPECT_EQ(ask(head("GET", path)).status, 404) << path;
  for (const char* query : {"digit=%", "digit=%4", "digit=%zz"})
    EXPECT_EQ(post(std::string("/page/look?") + query, "").status, 400) << query;
}

TEST_F(ServeService, FollowsAStrokeWhileItMeasures) {
  std::promise<void> end;
  const auto ended = end.get_future().share();
  const auto page = [&](const PageRequest& request) {
    if (request.measures()) ended.wait();
    return request.part;
  };
  std::promise<std::string> measured, looked;  // the service's threads, which set them, end before these
  Service service(options(), {infer, classify, page}, connections_);
  const auto gives = [](std::promise<std::string>& to) {
    return [&to](HttpResponse response) { to.set_value(std::move(response.body)); };
  };
  service.handle(head("POST", "/page/compare?layer=conv1"), "", gives(measured), nullptr);
  service.handle(head("POST", "/page/look"), "picture", gives(looked), nullptr);
  auto look = looked.get_future();
  const bool follows = look.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  end.set_value();
  EXPECT_TRUE(follows) << "it waited for the measurement";
  EXPECT_EQ(look.get(), "look");
  EXPECT_EQ(measured.get_future().get(), "compare");
}

TEST(ServePage, ReadsNumbers) {
  const PageRequest request{
      "compare", query_of("/page/compare?batch=64&batch=8&n=-1&x=1e3&big=1000000000&=5&empty"), {}};
  EXPECT_EQ(request.whole_number("batch", 1), 8);
  EXPECT_EQ(request.whole_number("none", 7), 7);
  EXPECT_EQ(request.text("empty"), "");
  for (const char* key : {"n", "x", "big"}) EXPECT_THROW(request.whole_number(key, 0), DataError) << key;
}

TEST_F(ServeService, ReadsPictures) {
  EXPECT_EQ(post("/classify", "12345").body, "{\"bytes\":5}");
  const HttpResponse empty = post("/classify", "");
  EXPECT_EQ(empty.status, 400);
  EXPECT_EQ(error_of(empty), "picture: it is empty");
  const HttpResponse large = post("/classify", std::string(kTooLarge, 'x'));
  EXPECT_EQ(large.status, 503);
  EXPECT_EQ(error_of(large), "out of memory");
}

TEST_F(ServeService, ServesNoOtherOrigin) {
  const auto status = [&](std::optional<std::string> host, std::optional<std::string> origin) {
    HttpHead asked = head("GET", "/v2");
    asked.host = std::move(host);
    asked.origin = std::move(origin);
    return ask(asked).status;
  };
  for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080",
                           "[::1]", "192.168.1.7", "digits.example", "DIGITS.EXAMPLE:80"})
    EXPECT_EQ(status(host, {}), 200) << host;
  for (const char* host :
       {"", ":8080", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "[::1]x",
        "127.0.0.1:x", "127.0.0.1:80:80", "127.0.0.1@evil.example", "digits.example."})
    EXPECT_EQ(status(host, {}), 403) << host;
  EXPECT_EQ(status({}, {}), 400);
  EXPECT_EQ(status("localhost:8080", "http://localhost:8080"), 200);
  EXPECT_EQ(status("digits.example", "https://digits.example"), 200);
  for (const char* origin : {"", "null", "http://localhost", "http://localhost:8081", "http://evil.example",
                             "http://localhost:8080.evil.example", "ftp://localhost:8080", "localhost:8080"})
    EXPECT_EQ(status("localhost:8080", origin), 403) << origin;
  EXPECT_EQ(host_name("[2001:DB8::1]:80"), "2001:db8::1");
}

TEST(ServeGuard, TakesNamesThatAHostFieldCanHave) {
  check_host_names({"digits.example", "DIGITS-2", "a_b"});
  for (const char* name :
       {"*", "", "a b", "digits.example:8080", "http://digits.example", "a\nb", "d\xc3\xa9", "::1"})
    expect_error<UsageError>(
        [&] {
          check_host_names({"digits.example", name});
        },
        concat("--allow-host expects names without a port, such as digits.example.org, "
               "found '",
               printable(name), "'"));
}

TEST_F(ServeService, IsNotReadyWhileItDrains) {
  service_.drain();
  EXPECT_EQ(get("/v2/health/ready").status, 503);
  EXPECT_EQ(get("/v2/models/mymodel/ready").status, 503);
  EXPECT_EQ(get("/v2/health/live").status, 200);
  EXPECT_EQ(post("/v2/models/mymodel/infer", example("flat.json")).status, 200);
}

TEST_F(ServeService, Counts) {
  post("/v2/models/mymodel/infer", example("flat.json"));
  post("/v2/models/mymodel/infer", "{");
  get("/nowhere");
  EXPECT_EQ(service_.failure(431, "a long header").status, 431);
  connections_.open = 3;
  const HttpResponse metrics = get("/metrics");
  EXPECT_EQ(metrics.type, "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"lenslet_requests_total{endpoint=\"infer\",code=\"200\"} 1\n",
        "lenslet_requests_total{endpoint=\"infer\",code=\"400\"} 1\n",
        "lenslet_requests_total{endpoint=\"none\",code=\"404\"} 1\n",
        "lenslet_requests_total{endpoint=\"none\",code=\"431\"} 1\n",
        "# TYPE lenslet_request_seconds histogram\n",
        "lenslet_request_seconds_bucket{endpoint=\"infer\",le=\"+Inf\"} 2\n",
        "lenslet_request_seconds_count{endpoint=\"infer\"} 2\n", "lenslet_samples_total 2\n",
        "lenslet_passes_total 1\n", "lenslet_queue_samples 0\n", "lenslet_connections 3\n"})
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << metrics.body;
}

TEST(ServeMetrics, CountTimesUpToEachBound) {
  Metrics metrics;
  for (const int us : {50, 100, 150, 3'000'000})
    metrics.answered(Endpoint::kInfer, 200, std::chrono::microseconds(us));
  const std::string text = metrics.text({}, {});
  for (const char* line : {"{endpoint=\"infer\",le=\"0.0001\"} 2\n", "{endpoint=\"infer\",le=\"0.0002\"} 3\n",
                           "{endpoint=\"infer\",le=\"2\"} 3\n", "{endpoint=\"infer\",le=\"+Inf\"} 4\n",
                           "lenslet_request_seconds_sum{endpoint=\"infer\"} 3.000300000\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// After weeks a request still changes the sum: rates over a short window are its differences.
TEST(ServeMetrics, SumTimesToTheNanosecond) {
  Metrics metrics;
  metrics.answered(Endpoint::kInfer, 200, std::chrono::nanoseconds(1'234'567'891'000'000));
  const auto sum_is = [&](const std::string& seconds) {
    const std::string line = "lenslet_request_seconds_sum{endpoint=\"infer\"} " + seconds + "\n";
    return metrics.text({}, {}).find(line) != std::string::npos;
  };
  EXPECT_TRUE(sum_is("1234567.891000000")) << metrics.text({}, {});
  metrics.answered(Endpoint::kInfer, 200, std::chrono::nanoseconds(5));
  EXPECT_TRUE(sum_is("1234567.891000005")) << metrics.text({}, {});
}

// The queue holds one sample, and the computation waits: the third request finds it full.
TEST(ServeQueue, IsBounded) {
  ServiceOptions options;
  options.signature = my_model();
  options.batching.max_queue = 1;
  options.picture_queue = 1;
  ConnectionCounts connections;
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int began = 0;
  const auto wait = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    ++began;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  };
  Service service(options,
                  {[&](const Samples&, int64_t count) {
                     wait();
                     return std::vector<float>(static_cast<size_t>(2 * count));
                   },
                   [&](const std::vector<uint8_t>&) {
                     wait();
                     return std::string("{}");
                   }},
                  connections);
  const std::string body = request_json(R"("shape":[1,2],"datatype":"FP32","data":[1,0])");
  for (const char* path : {"/v2/models/mymodel/infer", "/classify"}) {
    open = false;
    began = 0;
    std::vector<int> statuses;
    const auto ask = [&] {
      const auto respond = [&](const HttpResponse& response) {
        const std::lock_guard<std::mutex> lock(mutex);
        statuses.push_back(response.status);
        if (response.status == 503) {
          EXPECT_EQ(response.fields.at(0).first, "Retry-After");
        }
        changed.notify_all();
      };
      service.handle(head("POST", path), body, respond, nullptr);
    };
    ask();
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return began == 1; });
    }
    ask();
    ask();
    {
      std::unique_lock<std::mutex> lock(mutex);
      EXPECT_EQ(statuses, std::vector<int>{503}) << path;
      open = true;
      changed.notify_all();
      changed.wait(lock, [&] { return statuses.size() == 3; });
      EXPECT_EQ(statuses, (std::vector<int>{503, 200, 200})) << path;
    }
  }
}

/// A service whose computation of one sample reports the thread, and waits while it is closed.
class ServeJson : public testing::Test {
 protected:
  ServeJson() {
    ServiceOptions options;
    options.signature = my_model();
    options.json_queue = 1;
    Computation computation;
    computation.infer = [](const Samples& samples, int64_t) { return samples.values; };
    computation.infer_at_once = [this](const Samples& samples, std::vector<float>& outputs) {
      std::unique_lock<std::mutex> lock(mutex_);
      computed_by_.push_back(std::this_thread::get_id());
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
      outputs = samples.values;
      return true;
    };
    service_ = std::make_unique<Service>(std::move(options), std::move(computation), connections_);
  }

  /// A sample in at least so many bytes of JSON.
  void ask(size_t bytes) {
    service_->handle(
        head("POST", "/v2/models/mymodel/infer"),
        request_json(R"("shape":[1,2],"datatype":"FP32","data":[1,0])",
                     R"(,"x":")" + std::string(bytes, ' ') + "\""),
        [this](const HttpResponse& response) { take(response); }, nullptr);
  }
  void take(const HttpResponse& response) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.push_back(response);
    changed_.notify_all();
  }
  void set_open(bool open) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  template <typename Condition>
  void wait_for(const Condition& condition) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, condition);
  }

  ConnectionCounts connections_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::vector<std::thread::id> computed_by_;
  std::vector<HttpResponse> answers_;
  std::unique_ptr<Service> service_;  // last: its threads use the others
};

TEST_F(ServeJson, IsReadByAnotherThreadWhereItIsLong) {
  ask(1 << 10);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(computed_by_, (std::vector<std::thread::id>{std::this_thread::get_id()}));
  ask(100 << 10);
  wait_for([&] { return answers_.size() == 2; });
  EXPECT_NE(computed_by_.at(1), std::this_thread::get_id());
  for (const HttpResponse& answer : answers_) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, answers_.front().body);
  }
}

TEST_F(ServeJson, WaitsInABoundedQueueWhereItIsLong) {
  set_open(false);
  ask(100 << 10);
  wait_for([&] { return computed_by_.size() == 1; });  // its thread is busy now
  ask(100 << 10);
  EXPECT_TRUE(answers_.empty());
  ask(100 << 10);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_.front().status, 503);
  EXPECT_NE(answers_.front().body.find("too many large requests wait"), std::string::npos);
  set_open(true);
  wait_for([&] { return answers_.size() == 3; });
  EXPECT_EQ(answers_.at(1).status, 200);
  EXPECT_EQ(answers_.at(2).status, 200);
}

TEST_F(ServeJson, IsExplainedWhereItIsLongAndBroken) {
  service_->handle(
      head("POST", "/v2/models/mymodel/infer"), std::string(100 << 10, '{'),
      [this](const HttpResponse& response) { take(response); }, nullptr);
  wait_for([&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_.front().status, 400);
}

// A connection without memory for its response. The request counts once, and no second response is tried.
TEST_F(ServeService, AnswersOnceWhereTheResponseIsLost) {
  for (const char* target : {"/v2/models/mymodel/infer", "/v2", "/classify"}) {
    const auto lost = std::make_shared<std::promise<void>>();
    const auto calls = std::make_shared<std::atomic<int>>(0);
    const auto respond = [lost, calls](const HttpResponse&) {
      if (++*calls == 1) lost->set_value();
      throw std::bad_alloc();
    };
    service_.handle(head("POST", target), example("flat.json"), respond, nullptr);
    lost->get_future().wait();
    get("/v2/health/live");
    EXPECT_EQ(*calls, 1) << target;
  }
  const std::string metrics = get("/metrics").body;
  for (const char* endpoint : {"infer", "server", "classify"})
    EXPECT_NE(metrics.find(concat("lenslet_request_seconds_count{endpoint=\"", endpoint, "\"} 1\n")),
              std::string::npos)
        << metrics;
}

}  // namespace
}  // namespace lenslet::serve::test
