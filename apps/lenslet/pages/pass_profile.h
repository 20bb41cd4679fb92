// The times of a pass for a page, layer by layer.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/common/ceilings/ceilings.h"
#include "apps/lenslet/pages/picture_page.h"

namespace lenslet {

/// Largest batch whose times a page shows: 6e8 operations of LeNet-5, so that a CPU, too, computes some passes while a
/// person waits. Chosen by hand.
inline constexpr int64_t kMaxShownBatch = 1024;

/// Throws UsageError for a batch that no page shows: below 1 or above kMaxShownBatch.
void check_shown_batch(int64_t batch);

/// The member `profile` of a page: what `lenslet profile` measures of a pass with these backends, on random pictures.
/// Errors of a request are DataError.
nlohmann::ordered_json pass_profile(const PicturePage& picture_page, const std::string& backends,
                                    int64_t batch, const Ceilings& ceilings);

}  // namespace lenslet
