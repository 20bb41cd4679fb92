// Service: answers the requests of `lenslet serve`. It computes through functions, so that tests need neither a network
// nor a socket.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/lenslet/serve/batches/batcher.h"
#include "apps/lenslet/serve/http/http.h"
#include "apps/lenslet/serve/metrics.h"
#include "apps/lenslet/serve/protocol/infer_answer.h"
#include "apps/lenslet/serve/protocol/infer_request.h"
#include "apps/lenslet/serve/protocol/page_request.h"
#include "apps/lenslet/serve/protocol/routes.h"
#include "apps/lenslet/serve/task_queue.h"

namespace lenslet::serve {

struct ServiceOptions {
  Signature signature;
  std::vector<std::string> host_names;  // besides addresses and localhost
  BatcherOptions batching;
  size_t picture_queue = 64;  // pictures that may wait
  size_t page_queue = 16;     // requests of the page that may wait, and as many that measure
  size_t json_queue = 64;     // large requests in JSON that may wait to be read
  int json_threads = 1;       // that read them
  std::string home;           // the page at "/"
  std::string home_policy;    // its content security policy
};

/// How the service computes.
struct Computation {
  Batcher::Compute infer;
  /// The JSON answer to a picture of these bytes; called by one thread, beside that of `infer`. Throws DataError for a
  /// picture that cannot be read.
  std::function<std::string(const std::vector<uint8_t>& picture)> classify;
  /// The JSON answer to a request of the page, by one thread for those that measure and one for the others. Throws
  /// DataError for what cannot be answered.
  std::function<std::string(const PageRequest& request)> page = {};
  /// For requests of one sample, where that is faster; may be empty.
  Batcher::AtOnce infer_at_once = {};
};

class Service : public HttpService {
 public:
  Service(ServiceOptions options, Computation computation, const ConnectionCounts& connections);

  std::optional<HttpResponse> refuse(const HttpHead& head) override;
  HttpResponse failure(int status, const std::string& reason) override;
  void handle(const HttpHead& head, std::string body, Respond respond, Executor* thread) override;

  /// From now on the server is not ready, so that a load balancer sends its requests elsewhere.
  void drain() noexcept { ready_ = false; }

 private:
  class Reply;

  /// The response if there is one now; nullopt where `reply` gets it later.
  std::optional<HttpResponse> answer(const HttpHead& head, const Route& route, std::string& body,
                                     const Reply& reply);
  HttpResponse describe(const Route& route) const;
  std::optional<HttpResponse> infer(const HttpHead& head, std::string& body, const Reply& reply);
  std::optional<HttpResponse> compute(const std::string& body, std::optional<size_t> json_bytes,
                                      const Reply& reply);
  std::optional<HttpResponse> classify(const std::string& body, const Reply& reply);
  std::optional<HttpResponse> page(const HttpHead& head, const Route& route, const std::string& body,
                                   const Reply& reply);
  /// The response to whether the named model is this one; nullopt if it is.
  std::optional<HttpResponse> unknown_model(const Route& route) const;

  const ServiceOptions options_;
  const Computation computation_;
  const ConnectionCounts& connections_;
  const InferAnswers answers_;
  Metrics metrics_;
  std::atomic<bool> ready_{true};
  // Last, so that their threads end first, and those that give work to the batcher before it.
  Batcher batcher_;
  TaskQueue pictures_;
  TaskQueue pages_, measurements_;
  TaskQueue json_;
};

}  // namespace lenslet::serve
