// Completions for --backend: the backends of the model's layers and the variants of its whole-network plan in this
// build.
#pragma once

#include "apps/common/command_line/cli_description.h"

namespace lenslet {

/// Backends of any layer and variants of the whole-network plan, for both kinds of device; the layers as keys.
Suggestions backend_suggestions();
/// Variants of the whole-network plan, for both kinds of device, and "all".
Suggestions variant_suggestions();

/// The words of the glossary.
Suggestions glossary_suggestions();

}  // namespace lenslet
