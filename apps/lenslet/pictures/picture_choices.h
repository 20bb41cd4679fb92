// The options of `classify` and `eval` for a network that reads pictures: the normalisation of its channels, the names
// of classes.
#pragma once

#include <string>
#include <vector>

#include "api/model_setup.h"
#include "apps/lenslet/session/options.h"
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

/// Whether pictures are prepared as digits: the network reads digits (models/classifier.h). With --labels an ONNX
/// network of 1x28x28 or 28x28x1 reads other pictures.
bool reads_digits(const PictureOptions& options, const Network& network);

/// The channels and sizes of a sample's pixels: those of picture_layout(), and one channel of HxW. For other shapes the
/// first dimension is that of channels, and the sizes are 0.
PictureLayout pixel_layout(const Shape& sample);

/// --mean and --std, by default those of the model's file, and the lines of --labels. Throws UsageError unless there is
/// one value or one per channel; for a network that reads digits, also if any other of these options is given, or these
/// two without an ONNX file. Throws DataError for a file of labels with another number of lines than there are classes.
PictureChoices picture_choices(const PictureOptions& options, const Network& network);

/// What another command or interface offers where pictures cannot be classified: the end of an error.
inline constexpr char kUseRun[] = "run it from C++, C or Python by run()";

/// Throws DataError, which begins with the network's `name` and ends with `remedy`, unless it writes a value for each
/// of two or more classes.
void check_writes_classes(const Graph& graph, const std::string& name, const char* remedy);

/// How the network reads pictures. Throws DataError, as check_writes_classes() does, if it reads none.
PictureLayout check_reads_pictures(const Graph& graph, const std::string& name, const char* remedy);

}  // namespace lenslet
