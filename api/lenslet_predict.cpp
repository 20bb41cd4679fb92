// The C interface over Model::predict() and Model::logits(), with the check of the images.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "api/c_calls.h"
#include "api/feed.h"
#include "api/image_check.h"
#include "framework/base/alignment.h"
#include "framework/tensor/normalisation.h"

namespace {

using lenslet::concat;
using lenslet::ImageCheck;
using lenslet::Normalisation;
using lenslet::PixelPair;
using lenslet::c::as_pairs;
using lenslet::c::as_predictions;
using lenslet::c::check_not_null;
using lenslet::c::guarded;
using Images = lenslet_model::Images;

constexpr size_t kPixels = LENSLET_PIXELS;

// Values of one image.
template <typename Value>
constexpr size_t kValues = std::is_same_v<Value, PixelPair> ? LENSLET_PACKED_BYTES : kPixels;

// paper + ink; `sum - x` swaps dark and bright.
template <typename Value>
float paper_plus_ink(const Normalisation& normalisation) {
  return std::is_same_v<Value, float> ? (1 - 2 * normalisation.mean()) / normalisation.std() : 255;
}

template <typename Value>
void invert(const Value* from, size_t count, float sum, std::vector<Value>& to) {
  to.resize(count * kValues<Value>);
  std::transform(from, from + to.size(), to.begin(),
                 [&](Value value) { return static_cast<Value>(sum - static_cast<float>(value)); });
}

template <typename Value>
void check_images(const lenslet_model& model, const Value* images, int64_t count) {
  const bool inverted = model.images == Images::kInvert;
  ImageCheck look(inverted);
  if constexpr (std::is_same_v<Value, float>) {
    look = ImageCheck(model.model.normalisation(), inverted);
    look.look_for_numbers(images, 0, count);
  }
  const int64_t looked_at = std::min(count, ImageCheck::kMaxLookedAt);
  for (int64_t i = 0; i < looked_at; ++i)
    look.look_at(images + static_cast<size_t>(i * count / looked_at) * kValues<Value>);
  const std::string complaint = look.complaint();
  if (complaint.empty()) return;
  const char* const remedy = !look.are_numbers() ? "replace such values"
                             : look.are_pixels() ? "normalise them, or pass bytes to the _u8 function"
                             : inverted          ? "pass options.images \"check\", which does not invert them"
                                                 : "pass options.images \"invert\" to swap dark and bright";
  throw lenslet::UsageError(
      concat(complaint, "; ", remedy, ", or pass options.images \"any\" to skip the check"));
}

// Calls `compute(images, begin, count)` on all images, or on inverted parts of them.
template <typename Value, typename Compute>
void serve(lenslet_model& model, const Value* images, int64_t count, Compute&& compute) {
  lenslet::check_image_count(count, kValues<Value> * sizeof(Value), LENSLET_CLASSES * sizeof(float));
  const bool readable = images && count > 0 && lenslet::is_aligned(images, alignof(Value));
  // What the model refuses in any case.
  if (!readable || model.images == Images::kAny) return compute(images, int64_t{0}, count);
  compute(images, int64_t{0}, int64_t{0});  // refuses a network that reads no digits
  check_images(model, images, count);
  if (model.images == Images::kCheck) return compute(images, int64_t{0}, count);
  const float sum = paper_plus_ink<Value>(model.model.normalisation());
  std::vector<Value> part;
  for (int64_t begin = 0; begin < count; begin += model.model.pass_size()) {
    const int64_t size = std::min(count - begin, model.model.pass_size());
    invert(images + static_cast<size_t>(begin) * kValues<Value>, static_cast<size_t>(size), sum, part);
    compute(part.data(), begin, size);
  }
}

template <typename Value>
lenslet_status predict(lenslet_model* model, const Value* images, int64_t count,
                       lenslet_prediction* predictions) {
  return guarded([&] {
    serve(check_not_null(model, "model"), images, count, [&](const Value* part, int64_t begin, int64_t size) {
      model->model.predict(part, size, predictions ? as_predictions(predictions) + begin : nullptr);
    });
  });
}

template <typename Value>
lenslet_status logits(lenslet_model* model, const Value* images, int64_t count, float* values) {
  return guarded([&] {
    serve(check_not_null(model, "model"), images, count, [&](const Value* part, int64_t begin, int64_t size) {
      model->model.logits(part, size, values ? values + begin * LENSLET_CLASSES : nullptr);
    });
  });
}

}  // namespace

lenslet_status lenslet_predict_u8(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                  lenslet_prediction* predictions) {
  return predict(model, pixels, count, predictions);
}

lenslet_status lenslet_predict_f32(lenslet_model* model, const float* images, int64_t count,
                                   lenslet_prediction* predictions) {
  return predict(model, images, count, predictions);
}

lenslet_status lenslet_logits_u8(lenslet_model* model, const uint8_t* pixels, int64_t count, float* values) {
  return logits(model, pixels, count, values);
}

lenslet_status lenslet_logits_f32(lenslet_model* model, const float* images, int64_t count, float* values) {
  return logits(model, images, count, values);
}

lenslet_status lenslet_predict_u4(lenslet_model* model, const uint8_t* packed, int64_t count,
                                  lenslet_prediction* predictions) {
  return predict(model, as_pairs(packed), count, predictions);
}

lenslet_status lenslet_logits_u4(lenslet_model* model, const uint8_t* packed, int64_t count, float* values) {
  return logits(model, as_pairs(packed), count, values);
}

lenslet_status lenslet_pack_u4(const uint8_t* pixels, int64_t count, uint8_t* packed) {
  return guarded([&] {
    lenslet::check_image_count(count, LENSLET_PIXELS, LENSLET_PACKED_BYTES);
    if (count == 0) return;
    lenslet::convert_pixels(lenslet::ElementType::kUint8, &check_not_null(pixels, "pixels"),
                            count * LENSLET_PIXELS, {}, lenslet::ElementType::kUint4,
                            &check_not_null(packed, "packed"));
  });
}
