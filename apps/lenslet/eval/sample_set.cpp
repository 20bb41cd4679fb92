#include "apps/lenslet/eval/sample_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "apps/lenslet/eval/eval.h"
#include "apps/lenslet/pictures/digit_inputs.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/npz.h"
#include "framework/io/picture.h"
#include "models/classifier.h"
#include "models/digit/digit_image.h"
#include "models/digit/image_dataset.h"
#include "models/digit/picture_input.h"

namespace lenslet {
namespace {

namespace fs = std::filesystem;
constexpr const char* kInputs = "inputs";
constexpr const char* kLabels = "labels";
constexpr size_t kMaxNamed = 12;  // classes in the line that states their order

// The folders directly in a folder, in byte order of their names. Each may be a class, so one that cannot be examined
// is an error: without it the accuracy would be that of the other classes.
std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const bool folder = entry->is_directory(error);
    if (error)
      throw DataError(concat(printable_excerpt(entry->path().string()),
                             ": cannot read its type; each folder may be a class: ", error.message()));
    if (folder) names.push_back(entry->path().filename().string());
  }
  if (error) throw DataError(concat(printable_excerpt(path), ": cannot read the folder: ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

bool names_array(const std::string& path) { return ends_with(path, ".npz") || ends_with(path, ".npy"); }

bool has_idx_files(const std::string& folder) {
  const std::vector<std::string> idx = image_dataset_files(folder);
  std::error_code ignored;
  return std::any_of(idx.begin(), idx.end(), [&](const std::string& file) {
    return fs::exists(fs::symlink_status(file, ignored));  // a link to nothing is reported
  });
}

/// Pictures in a folder for each class.
class PictureFolders : public SampleSet {
 public:
  PictureFolders(const EvalOptions& options, const Network& network, const PictureChoices& choices)
      : options_(options),
        choices_(choices),
        sample_(network.graph.input_shape()),
        digits_(reads_digits(options, network)),
        normalisation_(network.graph.normalisation()) {
    origin_ = options.data;
    const std::string shown = printable_excerpt(options.data);
    if (!digits_)
      layout_ = check_reads_pictures(network.graph, network.origin, "give arrays by --data FILE.npz");
    const std::vector<std::string> folders = folders_in(options.data);
    classes_ = names(folders, classes_of(network.graph));
    for (const std::string& folder : folders) {
      const auto found = std::find(classes_.begin(), classes_.end(), folder);
      if (found == classes_.end())
        throw DataError(concat(shown, ": the folder ", printable_excerpt(folder), " is no line of ",
                               printable_excerpt(options.labels)));
      const auto again = std::find(found + 1, classes_.end(), folder);
      if (again != classes_.end())
        throw DataError(concat(shown, ": the folder ", printable_excerpt(folder), " is two lines of ",
                               printable_excerpt(options.labels), ", ", found - classes_.begin() + 1, " and ",
                               again - classes_.begin() + 1, "; give these classes different names"));
      for (std::string& file : pictures_in((fs::path(options.data) / folder).string())) {
        files_.push_back(std::move(file));
        labels_.push_back(static_cast<int>(found - classes_.begin()));
      }
    }
  }
  std::string name(int64_t i) const override { return files_[static_cast<size_t>(i)]; }
  std::vector<std::string> files() const override { return files_; }
  std::string order() const override {
    if (!alphabetical_) return {};
    std::string text = "classes in the alphabetical order of their folders: ";
    for (size_t c = 0; c < std::min(classes_.size(), kMaxNamed); ++c)
      text += concat(c == 0 ? "" : ", ", printable_excerpt(classes_[c], 40));
    return text + (classes_.size() > kMaxNamed ? ", ..." : "") + "; --labels FILE states another";
  }
  void read(int64_t first, int64_t count, float* inputs) const override {
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        read_input(files_[static_cast<size_t>(first + i)], inputs + i * sample_.num_elements());
    });
  }

 private:
  // Class c has the folder of its label, of its number, or the c-th folder. ImageFolder of PyTorch and
  // image_dataset_from_directory of Keras sort the names as text too, so 10 stands before 2.
  std::vector<std::string> names(const std::vector<std::string>& folders, int64_t classes) {
    if (!choices_.labels.empty()) return choices_.labels;
    std::vector<std::string> numbers;
    for (int64_t c = 0; c < classes; ++c) numbers.push_back(std::to_string(c));
    const auto numbered = [&](const std::string& folder) {
      return std::find(numbers.begin(), numbers.end(), folder) != numbers.end();
    };
    const auto other = std::find_if_not(folders.begin(), folders.end(), numbered);
    if (other == folders.end()) return numbers;
    if (static_cast<int64_t>(folders.size()) != classes) {
      if (std::any_of(folders.begin(), folders.end(), numbered))
        throw DataError(concat(printable_excerpt(options_.data), ": the folder ", printable_excerpt(*other),
                               " is no class of the network, which has the classes 0 to ", classes - 1,
                               "; remove it, or give the names of all classes by --labels"));
      throw DataError(
          concat(printable_excerpt(options_.data), ": expected a folder for each of the ", classes,
                 " classes of the network, found ", folders.size(),
                 "; or name the folders by the numbers of their classes, or give the names by --labels"));
    }
    alphabetical_ = true;
    return folders;
  }

  void read_input(const std::string& file, float* out) const {
    const std::vector<uint8_t> bytes = read_file(file, options_.picture_limits.max_file_bytes);
    const Picture picture = decode_picture(bytes, printable_excerpt(file), options_.picture_limits);
    if (digits_)
      normalisation_.apply(prepare_digit(picture).pixels.data(), sample_.num_elements(), out);
    else
      choices_.normalise(picture_input(picture, layout_, options_.fit), out);
  }

  const EvalOptions& options_;
  const PictureChoices& choices_;
  const Shape sample_;
  const bool digits_;
  bool alphabetical_ = false;  // the folders' order is that of the classes
  PictureLayout layout_;       // unless it reads digits
  const Normalisation& normalisation_;
  std::vector<std::string> files_;
};

/// Arrays `inputs` [N, …] and `labels` [N].
class Arrays : public SampleSet {
 public:
  Arrays(const EvalOptions& options, const Network& network, const PictureChoices& choices)
      : choices_(choices),
        sample_(network.graph.input_shape()),
        normalisation_(network.graph.normalisation()) {
    origin_ = options.data;
    const std::string shown = printable_excerpt(options.data);
    classes_ = choices.labels;
    NpyArray labels;
    std::string inputs_name = shown, labels_name = printable_excerpt(options.answers);
    if (ends_with(options.data, ".npz")) {
      check_no_answers(options, "; an .npz file has its labels in it");
      std::map<std::string, NpyArray> arrays =
          parse_npz(read_file(options.data, kMaxArrayBytes), shown, kMaxArrayBytes);
      if (arrays.size() != 2 || arrays.count(kInputs) == 0 || arrays.count(kLabels) == 0)
        throw DataError(concat(shown, ": expected the arrays inputs and labels, found ", arrays.size(),
                               " arrays; save them by numpy.savez(\"set.npz\", inputs=x, labels=y)"));
      inputs_ = std::move(arrays.at(kInputs));
      labels = std::move(arrays.at(kLabels));
      inputs_name += concat(": ", kInputs);
      labels_name = concat(shown, ": ", kLabels);
    } else {
      if (options.answers.empty()) throw UsageError("--data FILE.npy needs the labels by --answers FILE.npy");
      inputs_ = parse_npy(read_file(options.data, kMaxArrayBytes), shown);
      labels = parse_npy(read_file(options.answers, kMaxArrayBytes), labels_name);
    }
    check_inputs(inputs_name);
    if (inputs_.kind == 'f' && !(options.mean.empty() && options.std.empty()))
      throw UsageError(
          "--mean and --std are for pixels; inputs of float32 are the values that the network reads");
    take_labels(labels, labels_name, classes_of(network.graph));
  }
  std::string name(int64_t i) const override { return concat("inputs[", i, "]"); }
  void read(int64_t first, int64_t count, float* inputs) const override {
    const auto values = static_cast<size_t>(sample_.num_elements());
    const uint8_t* const from = inputs_.data.data() + static_cast<size_t>(first) * values * inputs_.item;
    if (inputs_.kind == 'f') {
      std::memcpy(inputs, from, static_cast<size_t>(count) * values * sizeof(float));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* const pixels = from + static_cast<size_t>(i) * values;
      float* const out = inputs + static_cast<size_t>(i) * values;
      if (choices_.channels.empty())
        normalisation_.apply(pixels, sample_.num_elements(), out);
      else
        choices_.normalise({pixels, pixels + values}, out);
    }
  }

 private:
  // [N, C, H, W] or [N, H, W, C], as the network reads them, or the same without channels of 1, or a row for each
  // sample; float32 or the bytes of pixels.
  void check_inputs(const std::string& where) const {
    const bool typed =
        (inputs_.kind == 'f' && inputs_.item == 4) || (inputs_.kind == 'u' && inputs_.item == 1);
    if (!inputs_.holds_samples_of(sample_) || !typed)
      throw DataError(concat(where, ": expected Nx", sample_.to_string(),
                             " of float32, or of uint8 for pixels, found ", inputs_.describe()));
  }
  void take_labels(const NpyArray& labels, const std::string& where, int64_t classes) {
    const bool whole = labels.kind == 'i' || labels.kind == 'u';
    const bool one_each = labels.dims.size() == 1 || (labels.dims.size() == 2 && labels.dims[1] == 1);
    if (!whole || !one_each || labels.dims[0] != inputs_.dims[0])
      throw DataError(
          concat(where, ": expected ", inputs_.dims[0], " whole numbers, found ", labels.describe()));
    for (const double value : labels.values(where)) {
      if (value < 0 || value >= static_cast<double>(classes))
        throw DataError(
            concat(where, ": label ", value, " at index ", labels_.size(), ", expected 0 to ", classes - 1));
      labels_.push_back(static_cast<int>(value));
    }
  }

  const PictureChoices& choices_;
  const Shape sample_;
  const Normalisation& normalisation_;
  NpyArray inputs_;
};

/// Grey pictures in IDX files, named as MNIST's, for a network that reads others than digits.
class IdxPictures : public SampleSet {
 public:
  IdxPictures(const EvalOptions& options, const Network& network, const PictureChoices& choices)
      : choices_(choices) {
    const Shape& sample = network.graph.input_shape();
    const PictureLayout layout = pixel_layout(sample);
    if (layout.channels != 1 || layout.height == 0)
      throw DataError(
          concat(printable_excerpt(network.origin), ": it reads ", sample.to_string(),
                 ", and IDX files have samples of one channel; give a folder per class, or arrays, by --data "
                 "(docs/models.md)"));
    ImageDataset data = read_image_dataset(data_folder(options), options.split, layout.height, layout.width,
                                           classes_of(network.graph));
    origin_ = data.images_path;
    pixels_ = std::move(data.images);
    values_ = layout.height * layout.width;
    labels_.assign(data.labels.begin(), data.labels.end());
    classes_ = choices.labels;
  }
  std::string name(int64_t i) const override { return concat("images[", i, "]"); }
  void read(int64_t first, int64_t count, float* inputs) const override {
    for (int64_t i = 0; i < count; ++i) {
      const auto begin = pixels_.begin() + (first + i) * values_;
      choices_.normalise({begin, begin + values_}, inputs + i * values_);
    }
  }

 private:
  const PictureChoices& choices_;
  int64_t values_ = 0;  // of a picture
  std::vector<uint8_t> pixels_;
};

}  // namespace

bool names_sample_set(const std::string& path) {
  if (names_array(path)) return true;
  std::error_code ignored;
  return fs::is_directory(path, ignored) && !has_idx_files(path) && !folders_in(path).empty();
}

void check_no_answers(const EvalOptions& options, const char* why) {
  if (!options.answers.empty()) throw UsageError(concat("--answers belongs to --data FILE.npy", why));
}

std::unique_ptr<SampleSet> open_sample_set(const EvalOptions& options, const Network& network,
                                           const PictureChoices& choices) {
  check_writes_classes(network.graph, network.origin, kUseRun);
  const bool arrays = names_array(options.data), samples = names_sample_set(options.data);
  if (!samples && !options.data.empty() && !has_idx_files(options.data))
    throw DataError(
        concat(printable_excerpt(options.data),
               ": expected a folder with a folder for each class or with IDX files named as MNIST's, "
               "or arrays as .npz or .npy, found none"));
  const bool scales = options.fit.size || options.fit.keep_aspect || options.fit.bgr;
  if (scales && (arrays || !samples))
    throw UsageError("--size, --channels and --keep-aspect are for folders of pictures, --data has others");
  if (samples && options.split != EvalOptions().split)
    throw UsageError("--split chooses one of the halves of IDX files; --data has others");
  if (arrays) return std::make_unique<Arrays>(options, network, choices);
  check_no_answers(options);
  if (!samples) return std::make_unique<IdxPictures>(options, network, choices);
  return std::make_unique<PictureFolders>(options, network, choices);
}

}  // namespace lenslet
