// What completion offers for --backend: the names that the model's layers and its fused plan know in this build.
#pragma once

#include "apps/common/cli_description.h"

namespace lenslet {

/// Backends of any layer and variants of the fused plan, for both kinds of device; the layers as keys.
Suggestions backend_suggestions();
/// Variants of the fused plan, for both kinds of device, and "all".
Suggestions variant_suggestions();

}  // namespace lenslet
