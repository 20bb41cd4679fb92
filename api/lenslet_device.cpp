// The C interface over Model's calls in the memory of a GPU, and page-locked memory of the host.
#include "api/c_calls.h"
#include "api/host_memory.h"

namespace {

using lenslet::Place;
using lenslet::c::as_pairs;
using lenslet::c::as_predictions;
using lenslet::c::check_not_null;
using lenslet::c::guarded;

void check_not_inverted(const lenslet_model& model) {
  if (model.images != lenslet_model::Images::kInvert) return;
  throw lenslet::UnavailableError(
      "options.images \"invert\" exchanges dark and bright in host memory only; subtract from 255 on the "
      "GPU");
}

template <typename Value>
lenslet_status predict(lenslet_model* model, const Value* images, int64_t count,
                       lenslet_prediction* predictions, void* stream) {
  return guarded([&] {
    check_not_inverted(check_not_null(model, "model"));
    model->model.predict(images, count, as_predictions(predictions), Place::on_device(stream));
  });
}

template <typename Value>
lenslet_status logits(lenslet_model* model, const Value* images, int64_t count, float* values, void* stream) {
  return guarded([&] {
    check_not_inverted(check_not_null(model, "model"));
    model->model.logits(images, count, values, Place::on_device(stream));
  });
}

}  // namespace

lenslet_status lenslet_host_alloc(size_t bytes, void** memory) {
  return guarded([&] {
    check_not_null(memory, "memory") = nullptr;
    *memory = lenslet::allocate_host_memory(bytes);
  });
}

void lenslet_host_free(void* memory) { lenslet::free_host_memory(memory); }

lenslet_status lenslet_predict_device(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                      lenslet_prediction* predictions, void* stream) {
  return predict(model, pixels, count, predictions, stream);
}

lenslet_status lenslet_predict_f32_device(lenslet_model* model, const float* images, int64_t count,
                                          lenslet_prediction* predictions, void* stream) {
  return predict(model, images, count, predictions, stream);
}

lenslet_status lenslet_logits_device(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                     float* values, void* stream) {
  return logits(model, pixels, count, values, stream);
}

lenslet_status lenslet_logits_f32_device(lenslet_model* model, const float* images, int64_t count,
                                         float* values, void* stream) {
  return logits(model, images, count, values, stream);
}

lenslet_status lenslet_predict_u4_device(lenslet_model* model, const uint8_t* packed, int64_t count,
                                         lenslet_prediction* predictions, void* stream) {
  return predict(model, as_pairs(packed), count, predictions, stream);
}

lenslet_status lenslet_logits_u4_device(lenslet_model* model, const uint8_t* packed, int64_t count,
                                        float* values, void* stream) {
  return logits(model, as_pairs(packed), count, values, stream);
}

lenslet_status lenslet_run_device(lenslet_model* model, const float* inputs, int64_t count, float* outputs,
                                  void* stream) {
  return guarded(
      [&] { check_not_null(model, "model").model.run(inputs, count, outputs, Place::on_device(stream)); });
}
