// The output of eval: text, JSON, CSV.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "apps/common/program/run.h"
#include "apps/lenslet/eval/eval.h"
#include "apps/lenslet/eval/streaming.h"
#include "apps/lenslet/pictures/eval_report.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

/// Throughput from bytes to logits.
struct Throughput {
  TimeStats pass;             // ns for all images
  double images_per_s = NAN;  // at the median pass
  TimeStats device_pass;      // ns of a pass with the input on the device
  double device_images_per_s = NAN;
  bool bitwise = true;  // every pass gave identical logits
  double first_call_ns = 0;
};

/// The result for the same images by a more exact pass, beside a run in another math mode or on packed pixels.
struct Beside {
  std::string backends;
  int64_t correct = 0;
  int64_t differing = 0;  // images that the two classify differently

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("backends", self.backends)("correct", self.correct)("differing", self.differing);
  }
};

/// The share of one of several ranks. Ranks send it as it is in memory.
struct RankPart {
  char host[65] = {}, device[16] = {};
  int64_t first = 0, count = 0;  // images
  double images_per_s = NAN;     // from bytes to logits; NaN without images

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("host", std::string(self.host))("device", std::string(self.device));
    v("first", self.first)("count", self.count)("images_per_s", self.images_per_s);
  }
};

struct EvalOutcome {
  BatchRun run;
  Evaluation evaluation;
  Throughput speed;
  std::optional<Beside> fp32;   // none if the run is in fp32
  std::optional<Beside> uint8;  // none unless the run reads packed pixels
  std::optional<StreamingReport> streaming;
  std::vector<RankPart> ranks;      // empty in a process that is alone
  std::vector<DeviceShare> shares;  // of all passes; empty for one device
};

void print_eval(Console& console, const EvalOptions& options, const Session& session,
                const Executable& executable, const EvalOutcome& outcome);
/// Writes the files of --json and --csv, if given. The CSV file has a heading and one line, so that files of several
/// runs can be joined.
void write_eval_files(const Run& run, const EvalOptions& options, const Session& session,
                      const Executable& executable, const ImageDataset& data, const EvalOutcome& outcome);

}  // namespace lenslet
