// Completions for --backend: the backends of the model's layers and its whole-network backends in this
// build.
#pragma once

#include "apps/common/command_line/cli_description.h"

namespace lenslet {

/// Backends of any layer and of the whole network, for both kinds of device; the layers as keys.
Suggestions backend_suggestions();
/// Whole-network backends, for both kinds of device, and "all".
Suggestions network_backend_suggestions();

}  // namespace lenslet
