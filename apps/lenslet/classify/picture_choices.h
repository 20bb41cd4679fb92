// What `classify` and `eval` are told about a network that reads pictures: the normalisation of its channels, the names
// of classes.
#pragma once

#include <string>
#include <vector>

#include "api/model_setup.h"
#include "apps/lenslet/options.h"
#include "framework/tensor/normalisation.h"
#include "models/digit/picture_input.h"

namespace lenslet {

struct PictureChoices {
  std::vector<Normalisation> channels;  // of the network's input
  bool channels_last = false;           // in the input, as in PictureLayout
  std::vector<std::string> labels;      // by class; empty: they are shown as numbers

  /// Writes the values of a sample's pixels to `out`.
  void normalise(const std::vector<uint8_t>& pixels, float* out) const;
};

/// What --mean and --std state for all channels of the network, to load it with.
ChosenNormalisation chosen_normalisation(const PictureOptions& options);

/// Whether pictures are read as digits: the network reads them (models/classifier.h), and --labels gives the classes of
/// an ONNX file no other names.
bool reads_digits(const PictureOptions& options, const Network& network);

/// --mean and --std, by default those of the model's file, and the lines of --labels. Throws UsageError unless there is
/// one value or one per channel, and if a network that reads digits gets another of these options, or these two without
/// an ONNX file. Throws DataError for a file of labels with another number of lines than there are classes.
PictureChoices picture_choices(const PictureOptions& options, const Network& network);

/// Throws DataError unless the network writes a value for each of two or more classes.
void demand_classes(const Network& network);

/// How the network reads pictures. Throws DataError, which ends with `remedy`, if it reads none.
PictureLayout demand_pictures(const Network& network, const char* remedy);

}  // namespace lenslet
