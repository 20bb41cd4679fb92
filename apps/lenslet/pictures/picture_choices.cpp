#include "apps/lenslet/pictures/picture_choices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "apps/common/output/output.h"
#include "framework/base/clause_list.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

// 41,943 labels of 100 bytes, and no answer shows more bytes of one. A large file that is no list, such as a model, is
// refused unread.
constexpr size_t kMaxLabelBytes = 1 << 22;

// The value of channel `c`: the only one, its own, or `fallback` without any.
float value_of(const std::vector<double>& values, size_t c, size_t channels, const char* option,
               float fallback) {
  if (values.empty()) return fallback;
  if (values.size() == 1) return static_cast<float>(values[0]);
  if (values.size() == channels) return static_cast<float>(values[c]);
  throw UsageError(concat(option, " expects one number, or one for each of the ", channels,
                          " channels that the network reads, found ", values.size()));
}

// No error, because the usual list for ImageNet has two classes called crane.
void note_equal_lines(const std::vector<std::string>& labels, const std::string& path) {
  constexpr size_t kMaxListed = 4;  // a note of a few lines
  std::unordered_map<std::string, size_t> line_of;
  ClauseList pairs(kMaxListed);
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto [first, is_new] = line_of.emplace(labels[i], i + 1);
    if (!is_new) pairs.add(concat("lines ", first->second, " and ", i + 1, " are both \"", labels[i], "\""));
  }
  if (const std::string text = pairs.text(); !text.empty()) {
    write_standard_error(concat("lenslet: note: ", printable_excerpt(path), ": ", text,
                                "; answers do not tell such classes apart\n"));
  }
}

std::vector<std::string> read_labels(const std::string& path, int64_t classes) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxLabelBytes);
  if (std::find(bytes.begin(), bytes.end(), 0) != bytes.end())
    throw DataError(
        concat(printable_excerpt(path), ": expected UTF-8 text with a line for each of the ", classes,
               " classes of the network, found a byte 0: a picture, a model or other binary data"));
  std::vector<std::string> labels;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(printable_excerpt(line, 100));
    line.clear();
  };
  constexpr uint8_t kByteOrderMark[] = {0xef, 0xbb, 0xbf};
  const bool marked = bytes.size() >= 3 && std::equal(kByteOrderMark, kByteOrderMark + 3, bytes.begin());
  for (size_t i = marked ? 3 : 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      end_line();
    } else {
      line += static_cast<char>(bytes[i]);
    }
  }
  if (!line.empty()) end_line();
  if (static_cast<int64_t>(labels.size()) != classes) {
    throw DataError(concat(printable_excerpt(path), ": expected a line for each of the ", classes,
                           " classes of the network, found ", labels.size()));
  }
  note_equal_lines(labels, path);
  return labels;
}

}  // namespace

void PictureChoices::normalise(const std::vector<uint8_t>& pixels, float* out) const {
  if (channels_last && channels.size() > 1) {
    for (size_t i = 0; i < pixels.size(); ++i) channels[i % channels.size()].apply(&pixels[i], 1, out + i);
    return;
  }
  const size_t plane = pixels.size() / channels.size();
  for (size_t c = 0; c < channels.size(); ++c)
    channels[c].apply(pixels.data() + c * plane, static_cast<int64_t>(plane), out + c * plane);
}

ChosenNormalisation chosen_normalisation(const PictureOptions& options) {
  const auto only = [](const std::vector<double>& values) {
    return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
  };
  return {only(options.mean), only(options.std)};
}

bool reads_digits(const PictureOptions& options, const Network& network) {
  const bool renamed = !options.labels.empty() && ends_with(network.origin, ".onnx");
  return reads_digits(network.graph) && !(renamed && picture_layout(network.graph.input_shape()));
}

PictureLayout pixel_layout(const Shape& sample) {
  if (sample.rank() == 2) return {1, sample[0], sample[1]};
  return picture_layout(sample).value_or(PictureLayout{sample[0]});
}

PictureChoices picture_choices(const PictureOptions& options, const Network& network) {
  PictureChoices choices;
  const PictureFit& fit = options.fit;
  const bool fitted = fit.keep_aspect || fit.size || fit.bgr || !options.labels.empty();
  const bool normalised = !options.mean.empty() || !options.std.empty();
  if (reads_digits(options, network)) {
    if (fitted) {
      throw UsageError(concat(
          network.title(),
          " reads digits, which are prepared as MNIST's: --size, --channels, --keep-aspect and --labels "
          "do not apply; an ONNX network of 1x28x28 or 28x28x1 reads other pictures if --labels names its "
          "classes"));
    }
    if (normalised && !ends_with(network.origin, ".onnx"))
      throw UsageError(
          "--mean and --std are for ONNX networks; a weights file states its own (weights/FORMAT.md)");
    (void)value_of(options.mean, 0, 1, "--mean", 0);
    (void)value_of(options.std, 0, 1, "--std", 1);
    return choices;
  }
  const Shape& sample = network.graph.input_shape();
  const PictureLayout layout = pixel_layout(sample);
  const int64_t longer = std::max(layout.height, layout.width);
  if (fit.size && *fit.size < longer)
    throw UsageError(concat("--size expects at least the ", longer, " pixels of the longer side of ",
                            sample.to_string(), ", which the network reads, found ", *fit.size));
  if (fit.bgr && layout.channels != 3)
    throw UsageError(concat("--channels is for networks of 3 channels; this one reads ", sample.to_string()));
  const auto channels = static_cast<size_t>(layout.channels);
  choices.channels_last = layout.channels_last;
  for (size_t c = 0; c < channels; ++c) {
    const Normalisation& own = network.channels.empty() ? network.graph.normalisation() : network.channels[c];
    choices.channels.emplace_back(value_of(options.mean, c, channels, "--mean", own.mean()),
                                  value_of(options.std, c, channels, "--std", own.std()));
  }
  if (!options.labels.empty()) {
    check_writes_classes(network.graph, network.origin, "leave out --labels");
    choices.labels = read_labels(options.labels, classes_of(network.graph));
  }
  return choices;
}

void check_writes_classes(const Graph& graph, const std::string& name, const char* remedy) {
  if (const std::string fault = fault_of_shares(graph); !fault.empty())
    throw DataError(
        concat(printable_excerpt(name), ": ", fault, ", or take the outputs as they are: ", remedy));
  if (classes_of(graph) > 0) return;
  throw DataError(concat(printable_excerpt(name), ": its output is ", graph.output_shape().to_string(),
                         ", expected one value for each of two or more classes; ", remedy));
}

PictureLayout check_reads_pictures(const Graph& graph, const std::string& name, const char* remedy) {
  const Shape& sample = graph.input_shape();
  if (const std::optional<PictureLayout> layout = picture_layout(sample)) return *layout;
  throw DataError(concat(printable_excerpt(name), ": it reads ", sample.to_string(),
                         ", no picture of 1 or 3 channels; ", remedy));
}

}  // namespace lenslet
