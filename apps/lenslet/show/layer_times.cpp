#include "apps/lenslet/show/layer_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "api/feed.h"
#include "apps/common/results/result_file.h"
#include "framework/base/error.h"
#include "framework/execution/profiler.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/sampler.h"

namespace lenslet {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kProfileMs = 40, kRaceMs = 30, kPassMs = 60;  // of each measurement
constexpr int kLeastTurns = 12, kMostTurns = 400;
constexpr double kWindowNs =
    20e3;  // what is shorter is repeated within one measurement: a clock has its own cost

void demand_batch(int64_t batch) {
  if (batch < 1 || batch > kMostShownBatch)
    throw DataError(concat("a batch here is 1 to ", kMostShownBatch, ", found ", batch));
}

// Constant pictures would hide denormals and branches.
void load_random(Executable& executable) {
  Lane lane(executable);
  std::vector<uint8_t> pixels(static_cast<size_t>(executable.batch() * lane.image_values()));
  std::mt19937 random(1);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() >> 24);
  lane.load(pixels.data());
}

// Something to time: how often it runs in a window, and its times.
struct Runner {
  std::function<void()> enqueue;
  Stream* stream;
  int repeats = 1;
  std::vector<double> ns = {};

  double window() const {
    Event begin(stream->device()), end(stream->device());
    begin.record(*stream);
    for (int i = 0; i < repeats; ++i) enqueue();
    end.record(*stream);
    stream->synchronise();
    return end.ns_since(begin) / repeats;
  }
};

// Times all by turns, so that a disturbance meets everyone.
void take_turns(std::vector<Runner>& runners, double ms) {
  for (Runner& runner : runners) {
    runner.window();
    const double once = std::max(1.0, runner.window());
    runner.repeats = std::clamp(static_cast<int>(kWindowNs / once), 1, 1000);
  }
  Sampler sampler(ms * static_cast<double>(runners.size()), kLeastTurns, kMostTurns);
  while (sampler.next())
    for (Runner& runner : runners) runner.ns.push_back(runner.window());
}

Json json_of(const TimeStats& time) {
  return {{"median_ns", time.median}, {"p10_ns", time.p10}, {"p90_ns", time.p90}};
}

template <class Body>
auto of_request(const Body& body) {
  try {
    return body();
  } catch (const UsageError& error) {
    throw DataError(error.what());
  } catch (const UnavailableError& error) {
    throw DataError(error.what());
  }
}

std::vector<float> values_of(ConstTensorView view, Stream& stream) {
  std::vector<float> values(static_cast<size_t>(view.shape.num_elements()));
  copy_bytes(values.data(), Device::cpu(), view.data, view.device, values.size() * sizeof(float), stream);
  stream.synchronise();
  return values;
}

// One backend of a layer in a pass of its own, where it reads what the layers before write.
struct Racer {
  std::string backend;
  std::unique_ptr<Executable> pass;
  size_t step = 0;
};

}  // namespace

const Ceilings& LayerTimes::ceilings() {
  if (!ceilings_) ceilings_ = measure_ceilings(looker_.session().device());
  return *ceilings_;
}

Json LayerTimes::profile(const std::string& backends, int64_t batch) {
  demand_batch(batch);
  const DeviceGuard guard(looker_.session().device());
  return of_request([&] {
    const Ceilings& ceilings = this->ceilings();
    Executable executable(looker_.session().graph(), looker_.build(backends, batch, true));
    load_random(executable);
    executable.run_checked();
    ProfileOptions options;
    options.warmup_ms = kProfileMs / 4;
    options.min_time_ms = kProfileMs;
    options.cold = options.copies = false;
    const Profile measured = lenslet::profile(executable, options);
    Json layers = Json::array();
    for (const LayerProfile& layer : measured.layers) {
      const Executable::Step& step = executable.steps()[layer.step];
      ResultRow row;
      row.cache = "hot";
      row.time = layer.hot;
      row.products_saved = step.op->products_saved();
      apply_ceiling(row, ceilings, step.work, step.math);
      Json json = json_of(layer.hot);
      json["name"] = step.name;
      json["backend"] = step.backend;
      json["with"] = step.fused;
      json["ceiling_fraction"] = std::isfinite(row.ceiling_fraction) ? Json(row.ceiling_fraction) : Json();
      json["bound_by"] = row.bound_by;
      json["flops"] = step.work.flops;
      layers.push_back(std::move(json));
    }
    Json json = {{"batch", batch},
                 {"backends", backends},
                 {"layers", layers},
                 {"total_ns", measured.unprofiled.median},
                 {"sum_ns", measured.layers_ns},
                 {"events_ns", measured.events_ns},
                 {"residual_ns", measured.residual_ns}};
    return json;
  });
}

Json LayerTimes::race(const std::string& layer, int64_t batch) {
  demand_batch(batch);
  const Graph& graph = looker_.session().graph();
  const DeviceGuard guard(looker_.session().device());
  return of_request([&] {
    const auto node = static_cast<size_t>(&graph.node(layer) - graph.nodes().data());
    if (!graph.nodes()[node].layer)
      throw DataError(concat("'", layer, "' is the input; nothing computes it"));
    BuildOptions listing = looker_.build("", batch, true);
    listing.backends = BackendSpec();
    Json rows = Json::array();
    std::vector<Racer> racers;
    std::vector<Runner> runners;
    for (const TuneCandidate& candidate : tune_candidates(graph, listing)) {
      if (candidate.nodes != std::vector<size_t>{node}) continue;
      std::string reason = candidate.status == "UNSUPPORTED" ? candidate.reason : std::string();
      if (reason.empty()) try {
          BuildOptions build = looker_.build("", batch, false);
          build.backends.set(layer, candidate.backend);
          Racer racer{candidate.backend, std::make_unique<Executable>(graph, build)};
          while (racer.pass->steps()[racer.step].name != layer) ++racer.step;
          load_random(*racer.pass);
          racer.pass->run_checked();
          racers.push_back(std::move(racer));
          continue;
        } catch (const Error& error) {
          reason = error.what();
        }
      rows.push_back({{"backend", candidate.backend}, {"reason", reason}});
    }
    runners.reserve(racers.size());
    for (Racer& racer : racers)
      runners.push_back({[&racer] { racer.pass->run_step(racer.step); }, &racer.pass->stream()});
    if (!runners.empty()) take_turns(runners, kRaceMs);
    Json timed = Json::array();
    std::vector<float> first;
    for (size_t i = 0; i < racers.size(); ++i) {
      Json json = json_of(summarise(runners[i].ns));
      const std::vector<float> values =
          values_of(racers[i].pass->activation(layer), racers[i].pass->stream());
      if (first.empty()) first = values;
      double difference = 0;
      for (size_t k = 0; k < values.size(); ++k)
        difference = std::max(difference, std::fabs(double{values[k]} - double{first[k]}));
      json["backend"] = racers[i].backend;
      json["difference"] = difference;
      json["samples_ns"] = runners[i].ns;
      timed.push_back(std::move(json));
    }
    std::sort(timed.begin(), timed.end(), [](const Json& a, const Json& b) {
      return a["median_ns"].get<double>() < b["median_ns"].get<double>();
    });
    for (Json& row : rows) timed.push_back(std::move(row));
    return Json{{"layer", layer}, {"batch", batch}, {"rows", std::move(timed)}};
  });
}

Json LayerTimes::tune(int64_t batch) {
  demand_batch(batch);
  const DeviceGuard guard(looker_.session().device());
  const Graph& graph = looker_.session().graph();
  std::string best;
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer || node.layer->backends(looker_.session().device().kind).size() < 2) continue;
    const Json rows = race(node.name, batch)["rows"];
    if (rows.empty() || !rows[0].contains("median_ns")) continue;
    best += concat(best.empty() ? "" : ",", node.name, "=", rows[0]["backend"].get<std::string>());
  }
  return of_request([&] {
    Executable layered(graph, looker_.build(best, batch, true));
    BuildOptions own = looker_.session().build_options(batch);
    own.input = own.output = ElementType::kFp32;
    Executable usual(graph, own);
    load_random(layered);
    load_random(usual);
    layered.run_checked();
    usual.run_checked();
    std::vector<Runner> runners = {{[&] { layered.run(); }, &layered.stream()},
                                   {[&] { usual.run(); }, &usual.stream()}};
    take_turns(runners, kPassMs);
    const TimeStats of_layered = summarise(runners[0].ns), of_usual = summarise(runners[1].ns);
    const Executable& fastest = of_layered.median < of_usual.median ? layered : usual;
    return Json{{"batch", batch},
                {"backends", best},
                {"layered", json_of(of_layered)},
                {"usual", json_of(of_usual)},
                {"usual_name", describe_backends(usual.plan())},
                {"layered_name", describe_backends(layered.plan())},
                {"fastest", &fastest == &layered ? "layered" : "usual"},
                {"plan", fastest.plan().to_json()}};
  });
}

}  // namespace lenslet
