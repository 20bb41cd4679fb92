// lenslet serve: answers requests over HTTP.
#include <chrono>
#include <memory>
#include <thread>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/pages/page.h"
#include "apps/lenslet/serve/engine.h"
#include "apps/lenslet/serve/http/guard.h"
#include "apps/lenslet/serve/http/http_server.h"
#include "apps/lenslet/serve/pages.h"
#include "apps/lenslet/serve/service.h"
#include "framework/base/parallel.h"
#include "framework/device/device_health.h"

namespace lenslet {
namespace {

constexpr std::chrono::milliseconds kPoll(50);

serve::HttpServerOptions server_options(const ServeOptions& options) {
  serve::HttpServerOptions server;
  server.address = options.host;
  server.port = static_cast<int>(options.port);
  server.threads = num_threads();
  server.max_connections = options.max_connections;
  server.max_body = options.max_body;
  server.max_bodies = std::max(server.max_bodies, options.max_body);
  server.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_s * 1000));
  return server;
}

}  // namespace

ExitCode run_serve(const ServeOptions& options) {
  serve::HttpServer::check_available();
  serve::check_host_names(options.allow_host);
  Console console({});
  serve::Engine engine(options, console);
  serve::Pages pages(engine);

  serve::ServiceOptions settings;
  settings.signature = engine.signature();
  settings.host_names = options.allow_host;
  settings.home = serve::home_page();
  settings.home_policy = page_policy();
  settings.batching.max_batch = options.max_batch;
  settings.batching.max_delay = std::chrono::microseconds(options.max_delay_us);
  settings.batching.max_queue = options.max_queue;
  settings.json_threads = num_threads();
  serve::ConnectionCounts counts;
  auto service = std::make_unique<serve::Service>(
      std::move(settings),
      serve::Computation{
          [&](const serve::Samples& samples, int64_t count) { return engine.infer(samples, count); },
          [&](const std::vector<uint8_t>& picture) { return engine.classify(picture); },
          [&](const serve::PageRequest& request) { return pages.answer(request); },
          [&](const serve::Samples& sample, std::vector<float>& outputs) {
            return engine.infer_at_once(sample, outputs);
          }},
      counts);
  serve::HttpServer server(server_options(options), *service, counts);

  console.line(concat("model '", engine.signature().model, "': ", engine.describe()));
  if (!engine.same_bits())
    console.line(
        "its last bits may depend on the batch: requests that come together may differ from single ones");
  if (server.max_connections() < options.max_connections)
    console.line(
        concat("at most ", server.max_connections(), " connections: the system permits no more open files"));
  console.line("serving at " + server.url());

  while (!interrupted() && !device_lost()) std::this_thread::sleep_for(kPoll);
  service->drain();
  const bool all = server.drain();
  server.stop();
  service.reset();
  if (device_lost()) throw DeviceError(device_lost_reason());
  console.line(
      concat(interrupting_signal(), ": ",
             all ? "every request was answered" : "some clients did not take their answers in time"));
  return ExitCode::kOk;
}

}  // namespace lenslet
