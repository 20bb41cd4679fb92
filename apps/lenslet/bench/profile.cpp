// lenslet profile: the time of each layer, and the best that this machine can do.
#include <cmath>
#include <optional>

#include "api/feed.h"
#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/row_table.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/candidates/logits_check.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/clock.h"
#include "framework/execution/chrome_trace.h"
#include "framework/execution/profiler.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/sampler.h"
#include "framework/tensor/pixels.h"
#include "layers/conv/conv_layer.h"

namespace lenslet {
namespace {

struct Measured {
  Profile profile;
  bool profiled = false;  // whether `profile` and what follows it are there
  double first_call_ns = NAN;
  TimeStats replayed;                                // launches of the captured graph; no samples without one
  std::string wrong;                                 // why the numbers are invalid; empty if they are valid
  std::optional<LogitsCheck::WrongStep> wrong_step;  // the first wrong step, if it was found
  ResultError error;
};

// Wall time of single passes, each synchronised: for a replayed graph this includes the launch.
TimeStats time_passes(Executable& executable, double min_time_ms) {
  std::vector<double> samples;
  Sampler sampler(min_time_ms, 1, INT_MAX, interrupted);
  while (sampler.next()) {
    const double start = host_now_ns();
    executable.run();
    executable.stream().synchronise();
    samples.push_back(host_now_ns() - start);
  }
  return summarise(samples);
}

void measure(Executable& executable, const Session& session, const ProfileCommandOptions& options,
             Measured& measured) {
  DeviceGuard guard(executable.device());
  Lane lane(executable);
  std::vector<uint8_t> images = random_pixels(executable.batch() * lane.image_values(), options.seed);
  // So that the judge reads what the pass reads.
  if (lane.ends().input == ElementType::kUint4)
    round_to_greys(images.data(), static_cast<int64_t>(images.size()));
  LogitsCheck check(session.graph(), images);
  lane.load(images.data());
  const double start = host_now_ns();
  executable.run_checked();
  measured.first_call_ns = host_now_ns() - start;
  measured.wrong = check.run(executable);
  measured.error = check.error();
  throw_if_interrupted();

  ProfileOptions profile_options;
  profile_options.warmup_ms = options.warmup_ms;
  profile_options.min_time_ms = options.min_time_ms;
  profile_options.cold = options.cache != "hot";
  profile_options.capture = options.capture;
  ProgressBar bar("profiling", 1);
  profile_options.stop = [&bar] {
    bar.pulse();
    return interrupted();
  };
  measured.profile = profile(executable, profile_options);
  if (executable.replays()) measured.replayed = time_passes(executable, options.min_time_ms);
  const std::string wrong = check.run(executable);
  if (measured.wrong.empty()) measured.wrong = wrong;
  measured.error = check.error();
  measured.profiled = true;
  if (measured.wrong.empty()) return;
  measured.wrong_step = check.first_wrong_step(executable);
  if (measured.wrong_step) measured.wrong = concat(measured.wrong_step->what, "; ", measured.wrong);
}

ResultRow layer_row(const Executable::Step& step, const Ceilings& ceilings, bool hot,
                    const LayerProfile& layer) {
  ResultRow row;
  row.name = step.name;
  if (const auto* const conv = dynamic_cast<const Conv2dLayer*>(step.layer))
    row.problem = conv->problem_for(step.inputs.at(0).shape).to_string();
  row.backend = step.backend;
  row.detail = step.detail;
  const ElementType read = step.inputs.at(0).type, written = step.output.type;
  if (read == ElementType::kFp16 || written == ElementType::kFp16)
    row.detail +=
        concat(row.detail.empty() ? "" : ", ", to_string(read), " in, ", to_string(written), " out");
  if (step.uses_math) row.math = to_string(step.math);
  row.cache = hot ? "hot" : "cold";
  row.time = hot ? layer.hot : layer.cold;
  if (hot) {
    for (const StageProfile& stage : layer.stages) row.stages_ns.emplace_back(stage.name, stage.hot.median);
  }
  row.setup_ns = step.prepare_ns;
  row.workspace_bytes = static_cast<int64_t>(step.workspace_bytes);
  row.flops = step.work.flops;
  row.bytes_ideal = step.work.bytes;
  row.products_saved = step.op->products_saved();
  apply_ceiling(row, ceilings, step.work, step.math);
  return row;
}

ResultRow plain_row(const std::string& name, const TimeStats& time, const std::string& what) {
  ResultRow row;
  row.name = name;
  row.layout.clear();
  row.time = time;
  row.reason = what;
  return row;
}

TimeStats once(double ns) { return {1, ns, ns, ns, ns, ns}; }

// Rows of a run that ended before there was a profile. `fault`: how the device failed; empty after a signal.
std::vector<ResultRow> rows_without_profile(const Measured& measured, const std::string& fault) {
  ResultRow why = plain_row("profile", {}, why_unmeasured());
  why.status = row_status::kSkipped;
  if (!measured.wrong.empty()) {
    why.status = row_status::kFailed;
    why.reason = measured.wrong;
  }
  if (!fault.empty()) {
    why.status = row_status::kError;
    why.reason = fault;
  }
  std::vector<ResultRow> rows = {why};
  if (std::isfinite(measured.first_call_ns)) {
    rows.push_back(plain_row("first_call", once(measured.first_call_ns), "the first pass, host clock"));
  }
  return rows;
}

std::vector<ResultRow> all_rows(const Executable& executable, const Measured& measured,
                                const Ceilings& ceilings, const ProfileCommandOptions& options) {
  const Profile& profile = measured.profile;
  std::vector<ResultRow> rows;
  for (const bool hot : {true, false}) {
    if (options.cache == (hot ? "cold" : "hot")) continue;
    for (const LayerProfile& layer : profile.layers) {
      rows.push_back(layer_row(executable.steps()[layer.step], ceilings, hot, layer));
    }
  }
  rows.push_back(plain_row("uninstrumented", profile.uninstrumented, "one pass, device time"));
  rows.push_back(plain_row("instrumented", profile.instrumented, "one pass with an event after every layer"));
  rows.push_back(plain_row("wall", profile.wall, "one pass, host clock, enqueue and synchronise"));
  if (measured.replayed.samples > 0) {
    rows.push_back(plain_row("graph", measured.replayed, "one replay of the CUDA graph, host clock"));
  }
  if (profile.h2d.samples > 0) {
    rows.push_back(plain_row("h2d", profile.h2d, "input from page-locked host memory"));
    rows.back().bytes_ideal = static_cast<double>(profile.h2d_bytes);
    rows.push_back(plain_row("d2h", profile.d2h, "output to page-locked host memory"));
    rows.back().bytes_ideal = static_cast<double>(profile.d2h_bytes);
  }
  rows.push_back(plain_row("first_call", once(measured.first_call_ns), "the first pass, host clock"));
  rows.push_back(
      plain_row("build", once(executable.build_ns()), "choosing, planning and preparing all layers"));
  if (measured.wrong.empty()) return rows;
  for (ResultRow& row : rows) {
    const bool of_a_layer = !row.cache.empty();
    if (of_a_layer && measured.wrong_step &&
        row.name != executable.steps()[measured.wrong_step->index].name) {
      continue;
    }
    row.status = row_status::kFailed;
    row.reason = measured.wrong;
  }
  return rows;
}

Table layer_table(const Executable& executable, const std::vector<ResultRow>& rows, bool both) {
  std::vector<ResultRow> of_layers;
  for (const ResultRow& row : rows) {
    if (!row.cache.empty()) of_layers.push_back(row);
  }
  const auto layer = [&](const ResultRow& row) {
    for (const Executable::Step& step : executable.steps())
      if (step.name == row.name) return step.nodes();
    return row.name;
  };
  const auto stages = [](const ResultRow& row) {
    std::string text;
    for (const auto& [stage, ns] : row.stages_ns)
      text += concat(text.empty() ? "" : ", ", stage, " ", format_us(ns));
    if (!row.detail.empty()) text = concat(row.detail, text.empty() ? "" : "; ", text);
    return text;
  };
  RowTable table;
  table.words("layer", layer).words("backend", &ResultRow::backend);
  table.words("math", [](const ResultRow& row) { return row.math.empty() ? "-" : row.math; });
  if (both) table.words("cache", &ResultRow::cache).key();
  table.number("median us", median_ns, format_us).spread().number("GFLOP/s", [](const ResultRow& row) {
    return row.flops > 0 ? format_gflops(row) : std::string("-");
  });
  table.number("GB/s", &ResultRow::gbytes_per_s, format_short).if_it_fits().share().nearest_ceiling();
  table.number(
      "workspace", [](const ResultRow& row) { return static_cast<double>(row.workspace_bytes.value_or(0)); },
      format_bytes);
  table.if_it_fits().words("status", &ResultRow::status).reason().note("stages in us", stages);
  return table.of(of_layers, &ResultRow::cache);
}

// The sum to be checked: the layers' times minus the cost of the events between them, compared with a pass without
// those events.
Table sum_table(const Executable& executable, const Measured& measured) {
  const Profile& profile = measured.profile;
  const double total = profile.uninstrumented.median;
  Table table;
  table.column("a pass of " + format_count(executable.batch()), Table::Align::kLeft)
      .column("median us")
      .column("of total");
  const auto row = [&](const std::string& name, double ns) {
    table.row({name, format_us(ns), format_share(ns / total)});
  };
  row("layers, sum", profile.layers_ns);
  row(concat("- events (", profile.steps - 1, " x ", format_time(profile.event_ns), ")"), -profile.events_ns);
  row("= explained", profile.layers_ns - profile.events_ns);
  row("residual", profile.residual_ns);
  table.rule();
  row("uninstrumented total", total);
  row("instrumented total", profile.instrumented.median);
  row("wall clock, enqueue and synchronise", profile.wall.median);
  if (executable.device().is_cuda()) {
    row("of it launch and synchronise, wall - uninstrumented", profile.wall.median - total);
  }
  if (measured.replayed.samples > 0) row("wall clock, CUDA graph replayed", measured.replayed.median);
  if (profile.h2d.samples > 0) {
    row(concat("copy in, ", format_bytes(static_cast<double>(profile.h2d_bytes))), profile.h2d.median);
    row(concat("copy out, ", format_bytes(static_cast<double>(profile.d2h_bytes))), profile.d2h.median);
  }
  row("first call (once)", measured.first_call_ns);
  row("set-up (once)", executable.build_ns());
  return table;
}

// The program explains a residual above this share of the total.
constexpr double kSmallResidual = 0.03;

// The cost of one event between two kernels. It includes that the next launch cannot overlap the end of the kernel
// before it.
double event_inside_ns(const Profile& profile) {
  const double between = static_cast<double>(profile.steps) - 1;
  return between > 0 ? (profile.instrumented.median - profile.uninstrumented.median) / between : 0;
}

std::string explain_residual(const Profile& profile) {
  const double inside = event_inside_ns(profile);
  const double explained = (profile.event_ns - inside) * (static_cast<double>(profile.steps) - 1);
  const double left = profile.residual_ns - explained;
  return concat("of the residual, ", format_us(explained),
                " us come from events: one between two layers costs ", format_time(inside), ", one alone ",
                format_time(profile.event_ns), "; ", format_us(left), " us (",
                format_share(left / profile.uninstrumented.median), " of the total) are unexplained");
}

void print_report(Console& console, const Executable& executable, const std::vector<ResultRow>& rows,
                  const Measured& measured, const ProfileCommandOptions& options) {
  console.line();
  console.print(layer_table(executable, rows, options.cache == "both"));
  console.line();
  console.print(sum_table(executable, measured));
  const double total = measured.profile.uninstrumented.median;
  console.line(concat(format_rate(static_cast<double>(executable.batch()) / total * 1e9),
                      " images/s with the input on the device; sum of the layers and total differ by ",
                      format_share(std::fabs(measured.profile.residual_ns) / total)));
  if (std::fabs(measured.profile.residual_ns) > kSmallResidual * total) {
    console.line(explain_residual(measured.profile));
  }
  if (!measured.profile.held_back) {
    console.line(
        "a pass has more launches than a stream can hold back: times include the host's launch rate");
  }
  console.line(measured.wrong.empty()
                   ? concat(executable.output().type == ElementType::kFp32 ? "outputs" : "probabilities",
                            " within ", format_short(measured.error.max_abs), " of the fp64 reference, ",
                            format_short(measured.error.bound), " allowed")
                   : "FAILED: " + measured.wrong);
}

// The members of --json besides rows, if the device did not fail.
void add_members(JsonObject& json, const Measured& measured) {
  const Profile& profile = measured.profile;
  json.group("sums_ns", [&](JsonObject& sums) {
    sums("layers", profile.layers_ns)("events", profile.events_ns)("residual", profile.residual_ns);
    sums("uninstrumented", profile.uninstrumented.median)("event_alone", profile.event_ns);
    sums("event_inside", event_inside_ns(profile));
  });
  json("held_back", profile.held_back)("check", measured.error);
}

}  // namespace

ExitCode run_profile(const ProfileCommandOptions& options) {
  Run run("lenslet profile", options, {{"--trace", options.trace}, {"--save-plan", options.save_plan}},
          files_read(options));
  Session session(options, run.console());
  Model model = session.profiled_model(session.batch_or(1));
  Executable& executable = model.executable();
  Console& console = run.console();
  console.line(concat(session.network().title(), ", ", printable(session.weights_origin()), ", batch ",
                      executable.batch(), " on ", session.describe_device()));
  if (executable.plan().execution == Plan::kFused) {
    console.line(concat("plan: ", describe_backends(executable.plan())), 4);
  }
  if (session.build_options(executable.batch()).execution != executable.plan().execution) {
    console.line(
        "the layers are timed one by one; eval computes such a batch with the whole network at once, which "
        "--plan fused times");
  }
  if (executable.will_replay()) {
    console.line(
        "layers are timed without the CUDA graph, which hides them; the replayed graph has a line of its "
        "own");
  }
  // Ceilings first: measuring them warms the clocks up, and the profile is compared with them.
  Measured measured;
  run.on(session.device());
  run.guard([&] {
    run.take_ceilings();
    throw_if_interrupted();
    measure(executable, session, options, measured);
  });
  const bool profiled = run.fault().empty() && measured.profiled;
  run.add(profiled ? all_rows(executable, measured, run.ceilings(), options)
                   : rows_without_profile(measured, run.fault()));
  if (profiled) {
    print_report(console, executable, run.rows(), measured, options);
    if (!options.trace.empty()) {
      write_result(options.trace,
                   chrome_trace("lenslet profile", executable.device().to_string(), measured.profile.spans));
    }
  }
  return run.finish([&](JsonObject& json) {
    json("batch", executable.batch());
    if (profiled) add_members(json, measured);
  });
}

}  // namespace lenslet
