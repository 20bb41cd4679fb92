// Times for a page: each layer of a pass, the backends of one layer by turns, the fastest plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "apps/common/ceilings/ceilings.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "apps/lenslet/pages/pass_profile.h"
#include "apps/lenslet/pages/picture_page.h"

namespace lenslet::serve {

/// For one thread at a time, also beside PicturePage::look(). Errors of a request are DataError.
class LayerTimes {
 public:
  /// `picture_page` must outlive this.
  explicit LayerTimes(const PicturePage& picture_page) : picture_page_(picture_page) {}

  /// The member `profile` of a page: what `lenslet profile` measures of a pass with these backends, on random samples.
  nlohmann::ordered_json profile(const std::string& backends, int64_t batch);
  /// The times of every backend of a layer, by turns, on the values that the layers before it write. Each row has the
  /// largest error and its bound, or the reason why there is no time.
  nlohmann::ordered_json compare(const std::string& layer, int64_t batch);
  /// The layered plan of the fastest operators, as `lenslet tune` chooses them, against the session's own plan: the
  /// times of both, and the faster one as the text of a file for --plan; the session's if the two tie.
  nlohmann::ordered_json tune(int64_t batch);

 private:
  const Ceilings& ceilings();
  const BatchSamples& samples();

  const PicturePage& picture_page_;
  std::optional<Ceilings> ceilings_;
  std::optional<BatchSamples> samples_;  // kept: judging them takes a while
};

}  // namespace lenslet::serve
