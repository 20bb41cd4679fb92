// The C interface over Model: checks what C cannot, and turns every exception into a status and a line of text.
#include "api/c_calls.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/text.h"
#include "framework/device/device_list.h"
#include "framework/io/picture.h"
#include "framework/version.h"
#include "models/digit/digit_image.h"
#include "models/lenet5.h"

namespace lenslet::c {
namespace {

// A fixed size, because reporting a lack of memory must not allocate.
thread_local char last_error[1024] = "";

}  // namespace

void cut_copy(char* to, size_t capacity, const char* from, size_t length) noexcept {
  if (capacity == 0) return;
  size_t end = std::min(length, capacity - 1);
  // Do not cut a UTF-8 sequence.
  if (end < length) {
    while (end > 0 && (static_cast<unsigned char>(from[end]) & 0xc0) == 0x80) --end;
  }
  std::memcpy(to, from, end);
  to[end] = '\0';
}

lenslet_status fail(lenslet_status status, const char* message) noexcept {
  try {
    const std::string line = printable_line(message);
    cut_copy(last_error, sizeof last_error, line.data(), line.size());
  } catch (...) {  // no memory for the printable copy
    cut_copy(last_error, sizeof last_error, message, std::strlen(message));
  }
  return status;
}

lenslet_status status_of(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::kUsage:
      return LENSLET_ERROR_USAGE;
    case ExitCode::kData:
      return LENSLET_ERROR_DATA;
    case ExitCode::kUnavailable:
      return LENSLET_ERROR_UNAVAILABLE;
    case ExitCode::kDevice:
      return LENSLET_ERROR_DEVICE;
    case ExitCode::kMemory:
      return LENSLET_ERROR_MEMORY;
    default:  // other codes do not occur: this library checks no results, writes no files and handles no signals
      return LENSLET_ERROR_INTERNAL;
  }
}

}  // namespace lenslet::c

namespace {

using lenslet::concat;
using lenslet::c::check_not_null;
using lenslet::c::check_struct_size;
using lenslet::c::cut_copy;
using lenslet::c::guarded;

static_assert(LENSLET_SIDE == lenslet::kLenet5Side && LENSLET_CLASSES == lenslet::kLenet5Classes,
              "lenslet.h states the model's sizes");
static_assert(LENSLET_MAX_RANK == lenslet::Shape::kMaxRank, "an array of so many dimensions holds any shape");

// Earlier sizes: in version 0.1, without `images`, and before `graph`. Later versions add fields at the end and accept
// a shorter struct.
constexpr size_t kFirstOptionsSize = offsetof(lenslet_options, images);
constexpr size_t kOptionsSizeBeforeGraph = offsetof(lenslet_options, graph);

void check_options_size(const char* what, size_t size, const char* remedy) {
  check_struct_size(what, "lenslet_options", size,
                    {kFirstOptionsSize, kOptionsSizeBeforeGraph, sizeof(lenslet_options)}, remedy);
}

lenslet_options default_options() {
  lenslet_options options = {};
  options.device = "auto";
  options.plan = "auto";
  options.backend = "";
  options.math = "fp32";
  options.workspace_limit = SIZE_MAX;
  options.images = "check";
  options.graph = "auto";
  return options;
}

lenslet_options full_options(const lenslet_options* given) {
  lenslet_options full = default_options();
  if (!given) return full;
  check_options_size("options->size", given->size, "call lenslet_options_init(options, sizeof *options)");
  // A program without that field was written for a library that took all images.
  if (given->size == kFirstOptionsSize) full.images = "any";
  std::memcpy(&full, given, given->size);
  return full;
}

lenslet_model::Images images_of(const lenslet_options& options) {
  const std::string images = &check_not_null(options.images, "options->images");
  if (images == "check") return lenslet_model::Images::kCheck;
  if (images == "invert") return lenslet_model::Images::kInvert;
  if (images == "any") return lenslet_model::Images::kAny;
  throw lenslet::UsageError(concat("options->images: expected check, invert or any, found '", images, "'"));
}

lenslet::ModelOptions model_options(const lenslet_options& given) {
  lenslet::ModelOptions options;
  options.device = &check_not_null(given.device, "options->device");
  options.plan = &check_not_null(given.plan, "options->plan");
  options.backend = &check_not_null(given.backend, "options->backend");
  options.math = &check_not_null(given.math, "options->math");
  options.workspace_limit = given.workspace_limit;
  options.max_batch = given.max_batch;
  options.graph = &check_not_null(given.graph, "options->graph");
  return options;
}

template <typename Make>
lenslet_status make_model(lenslet_model** model, const lenslet_options* given, Make&& make) noexcept {
  if (model) *model = nullptr;
  return guarded([&] {
    check_not_null(model, "model");
    const lenslet_options options = full_options(given);
    const lenslet_model::Images images = images_of(options);
    lenslet::Model made = make(model_options(options));
    std::string device = lenslet::device_list(made.devices()), name = made.device_name();
    *model = new lenslet_model{std::move(made), std::move(device), std::move(name), images};
  });
}

void give_text(const std::string& whole, char* text, size_t capacity, size_t* length) {
  if (capacity > 0) check_not_null(text, "text with a capacity above 0");
  cut_copy(text, capacity, whole.data(), whole.size());
  if (length) *length = whole.size();
}

template <size_t SIZE>
void give_name(char (&to)[SIZE], const std::string& name) {
  cut_copy(to, SIZE, name.data(), name.size());
}

void give_shape(const lenslet::Shape& shape, int64_t* dims, size_t capacity, size_t* rank) {
  const auto count = static_cast<size_t>(shape.rank());
  if (capacity > 0) check_not_null(dims, "dims with a capacity above 0");
  for (size_t i = 0; i < std::min(capacity, count); ++i) dims[i] = shape[static_cast<int>(i)];
  if (rank) *rank = count;
}

}  // namespace

const char* lenslet_version(void) { return lenslet::kVersion; }

const char* lenslet_status_text(lenslet_status status) {
  switch (status) {
    case LENSLET_OK:
      return "ok";
    case LENSLET_ERROR_USAGE:
      return "usage";
    case LENSLET_ERROR_DATA:
      return "data";
    case LENSLET_ERROR_UNAVAILABLE:
      return "unavailable";
    case LENSLET_ERROR_DEVICE:
      return "device";
    case LENSLET_ERROR_MEMORY:
      return "memory";
    case LENSLET_ERROR_INTERNAL:
      return "internal";
  }
  return "unknown status";
}

const char* lenslet_last_error(void) { return lenslet::c::last_error; }

lenslet_status lenslet_options_init(lenslet_options* options, size_t size) {
  return guarded([&] {
    check_not_null(options, "options");
    check_options_size("the size of lenslet_options", size, "pass sizeof(lenslet_options)");
    lenslet_options defaults = default_options();
    defaults.size = size;
    std::memcpy(options, &defaults, size);
  });
}

lenslet_status lenslet_model_load(const char* path, const lenslet_options* options, lenslet_model** model) {
  return make_model(model, options, [&](const lenslet::ModelOptions& choices) {
    return lenslet::Model::load(&check_not_null(path, "path"), choices);
  });
}

lenslet_status lenslet_model_built_in(const lenslet_options* options, lenslet_model** model) {
  return make_model(model, options,
                    [](const lenslet::ModelOptions& choices) { return lenslet::Model::built_in(choices); });
}

void lenslet_model_destroy(lenslet_model* model) { delete model; }

const char* lenslet_model_device(const lenslet_model* model) {
  return model ? model->device.c_str() : nullptr;
}

const char* lenslet_model_device_name(const lenslet_model* model) {
  return model ? model->device_name.c_str() : nullptr;
}

double lenslet_model_energy_threshold(const lenslet_model* model) {
  return model ? model->model.energy_threshold() : NAN;
}

lenslet_status lenslet_model_input(const lenslet_model* model, int64_t* dims, size_t capacity, size_t* rank) {
  return guarded(
      [&] { give_shape(check_not_null(model, "model").model.input_shape(), dims, capacity, rank); });
}

lenslet_status lenslet_model_output(const lenslet_model* model, int64_t* dims, size_t capacity,
                                    size_t* rank) {
  return guarded(
      [&] { give_shape(check_not_null(model, "model").model.output_shape(), dims, capacity, rank); });
}

lenslet_status lenslet_run(lenslet_model* model, const float* inputs, int64_t count, float* outputs) {
  return guarded([&] { check_not_null(model, "model").model.run(inputs, count, outputs); });
}

lenslet_status lenslet_read_digit(const char* path, uint8_t* pixels) {
  return guarded([&] {
    const std::string name = &check_not_null(path, "path");
    check_not_null(pixels, "pixels");
    const lenslet::DigitImage digit = lenslet::prepare_digit(lenslet::read_picture(name));
    std::copy(digit.pixels.begin(), digit.pixels.end(), pixels);
  });
}

lenslet_status lenslet_profile(lenslet_model* model, int64_t batch, double min_time_ms,
                               lenslet_layer_time* layers, size_t capacity, size_t* layer_count,
                               double* total_ns) {
  return guarded([&] {
    check_not_null(model, "model");
    if (capacity > 0) check_not_null(layers, "layers with a capacity above 0");
    const lenslet::ModelProfile profile = model->model.profile(batch, min_time_ms);
    for (size_t i = 0; i < std::min(capacity, profile.layers.size()); ++i) {
      const lenslet::LayerTime& layer = profile.layers[i];
      give_name(layers[i].name, layer.name);
      give_name(layers[i].backend, layer.backend);
      give_name(layers[i].math, layer.math);
      layers[i].median_ns = layer.median_ns;
      layers[i].p10_ns = layer.p10_ns;
      layers[i].p90_ns = layer.p90_ns;
    }
    if (layer_count) *layer_count = profile.layers.size();
    if (total_ns) *total_ns = profile.total_ns;
  });
}

lenslet_status lenslet_model_plan(lenslet_model* model, int64_t batch, char* text, size_t capacity,
                                  size_t* length) {
  return guarded(
      [&] { give_text(check_not_null(model, "model").model.plan(batch).to_json(), text, capacity, length); });
}

lenslet_status lenslet_model_backends(lenslet_model* model, int64_t batch, char* text, size_t capacity,
                                      size_t* length) {
  return guarded([&] {
    std::string lines;
    for (const lenslet::BackendChoice& choice : check_not_null(model, "model").model.backends(batch)) {
      lines += concat(choice.layer, "\t", choice.backend, "\t", lenslet::printable(choice.reason), "\n");
    }
    give_text(lines, text, capacity, length);
  });
}

lenslet_status lenslet_model_shares(const lenslet_model* model, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    std::string lines;
    for (const lenslet::DeviceShare& share : check_not_null(model, "model").model.shares())
      lines +=
          concat(share.device.to_string(), "\t", share.images, "\t", lenslet::printable(share.fault), "\n");
    give_text(lines, text, capacity, length);
  });
}

lenslet_status lenslet_set_num_threads(int count) {
  return guarded([&] { lenslet::set_num_threads(count); });
}
