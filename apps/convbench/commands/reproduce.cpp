// convbench reproduce: repeats the published studies on this GPU, and compares their figures with the measured ones.
#include <algorithm>
#include <functional>

#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "apps/convbench/filter/filter_bench.h"
#include "framework/base/counted.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

struct Study {
  const char* letter;
  const char* title;
  std::function<void(const BenchOptions&, BenchSession&)> run;
  const char* remark;  // printed below its table; may be empty
};

/// Copies the measuring options of `all` to the options of one study.
template <typename Options>
Options with(const BenchOptions& all) {
  Options options;
  static_cast<BenchOptions&>(options) = all;
  return options;
}

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = {
      {"a", "RGB images by direct, im2col + GEMM and cuDNN; the matrix product by tile and by partition",
       [](const BenchOptions& all, BenchSession& session) {
         sweep_into(with<SweepOptions>(all), session);
         gemm_study_into(with<GemmStudyOptions>(all), session);
       },
       "Two of its findings are artefacts. \"element, block 64\" needs 64 x 64 = 4,096 threads per block, "
       "the limit is 1,024: the kernel never ran, its error went unread, and the 0.003 ms printed for every "
       "size are the time of a failed launch. And im2col + GEMM that takes as long at stride 3 as at "
       "stride 1 did the work of stride 1 at every stride; done right it gets faster, as above."},
      {"b", "Implicit GEMM, rung by rung, against cuDNN",
       [](const BenchOptions& all, BenchSession& session) {
         LadderOptions options = with<LadderOptions>(all);
         options.algorithms = {"implicit_gemm"};
         ladder_into(options, session);
       },
       ""},
      {"c", "An RGB picture through an edge filter, copies and launches included",
       [](const BenchOptions&, BenchSession& session) {
         filter_study_into({128, 256, 512, 1024, 2048, 4096}, {1, 2, 3}, session);
       },
       "The study stopped at 2048: im2col at 4096 did not fit its GPU's 2 GiB."},
      {"d", "Streams that overlap copies with compute; depthwise-separable convolution",
       [](const BenchOptions& all, BenchSession& session) {
         streams_into(with<StreamsOptions>(all), session);
         separable_into(with<SeparableOptions>(all), session);
       },
       "It prints no figures of its own. Its arithmetic: F(2x2,3x3) multiplies 36 / 16 = 2.25 times less "
       "than the direct algorithm, F(2x2,5x5) 100 / 36 = 2.78 times."},
      {"e", "1D and 2D convolution with the filter in global memory, constant memory, and tiled with halo",
       [](const BenchOptions& all, BenchSession& session) {
         stencil_into(with<StencilOptions>(all), session);
       },
       "It describes what to measure and prints no figures."}};
  return studies;
}

std::vector<const Study*> chosen_studies(const std::vector<std::string>& letters) {
  std::vector<const Study*> chosen;
  for (const std::string& letter : letters) {
    for (const Study& study : all_studies()) {
      if (letter == study.letter || letter == "all") chosen.push_back(&study);
    }
  }
  return chosen;
}

std::string what_of(const ResultRow& row) {
  std::string text;
  for (const auto& [label, word] : row.labels) {
    if (label != "change" && label != "table") text += concat(text.empty() ? "" : " ", label, " ", word);
  }
  return text;
}

void print_summary(Console& console, const std::vector<ResultRow>& rows) {
  const auto count = [&](const char* status) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const ResultRow& row) { return row.status == status; });
  };
  std::string text = concat(counted(rows.size(), "row"), ":");
  for (const char* status : {row_status::kPassed, row_status::kUnsupported, row_status::kSkipped,
                             row_status::kSuspect, row_status::kFailed, row_status::kError}) {
    if (const auto some = count(status); some > 0) text += concat(" ", some, " ", status);
  }
  console.line("\n" + text);
}

}  // namespace

void print_published(Console& console, const std::vector<ResultRow>& rows) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("cell", left).column("backend", left, Table::Use::kKey);
  table.column("theirs").column("ours").column("times faster").column("status", left);
  bool any = false;
  for (const ResultRow& row : rows) {
    if (!row.published || row.cache == "cold") continue;
    any = true;
    const PublishedFigure& theirs = *row.published;
    const bool timed = row.time.samples > 0;
    if (std::isfinite(theirs.time_ns)) {
      table.row({what_of(row), row.backend, format_time(theirs.time_ns),
                 timed ? format_time(row.time.median) : "-",
                 timed ? format_short(theirs.time_ns / row.time.median) : "-", row.status});
    } else {
      // Rates of the whole operation, including copies.
      const double ours = row.end_to_end.samples > 0 ? row.flops / row.end_to_end.median : NAN;
      table.row({what_of(row), row.backend, concat(format_short(theirs.gflops), " GFLOP/s"),
                 std::isfinite(ours) ? concat(format_short(ours), " GFLOP/s") : "-",
                 format_short(ours / theirs.gflops), row.status});
    }
  }
  if (!any) return;
  console.line("\nwhat the study printed, and this GPU, hot:");
  console.print(table);
}

ExitCode run_reproduce(const ReproduceOptions& options) {
  const std::vector<const Study*> studies = chosen_studies(options.studies);
  return with_session(options, "reproduce", BenchSession::Needs::kGpu, [&](BenchSession& session) {
    for (const Study* study : studies) {
      if (session.stopped()) break;
      const size_t before = session.rows().size();
      session.console().line(concat("\n== ", study->title));
      study->run(options, session);
      print_published(session.console(), session.rows_from(before));
      if (*study->remark != '\0') session.console().line(concat("\n", study->remark));
    }
    print_summary(session.console(), session.rows());
  });
}

}  // namespace lenslet
