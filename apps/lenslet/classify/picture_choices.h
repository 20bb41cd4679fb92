// What `classify` and `eval` are told about a network that reads pictures: the normalisation of its channels, the names
// of classes.
#pragma once

#include <string>
#include <vector>

#include "api/model_setup.h"
#include "apps/lenslet/options.h"
#include "framework/tensor/normalisation.h"

namespace lenslet {

struct PictureChoices {
  std::vector<Normalisation> channels;  // of the network's input
  std::vector<std::string> labels;      // by class; empty: they are shown as numbers

  /// Writes the values of pixels [C, H, W] to `out`.
  void normalise(const std::vector<uint8_t>& pixels, float* out) const;
};

/// --mean and --std, by default those of the model's file, and the lines of --labels. Throws UsageError for another
/// number of values than one or one a channel, and if a network that reads digits gets any of these options; DataError
/// for a file of labels with another number of lines than there are classes.
PictureChoices picture_choices(const PictureOptions& options, const Network& network);

}  // namespace lenslet
