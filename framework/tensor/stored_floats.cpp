#include "framework/tensor/stored_floats.h"

#include <cstring>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/tensor/float_formats.h"

namespace lenslet {
namespace {

constexpr int64_t kGrain = int64_t{1} << 16;  // values of a range: some tens of microseconds

using ToBits = uint16_t (*)(float);
using ToFloat = float (*)(uint16_t);

void check_float(ElementType type) {
  if (is_float(type)) return;
  throw DataError(concat("cannot convert elements of type ", type.name(), "; expected fp32, fp16 or bf16"));
}

template <ToBits kToBits>
void store(const float* values, int64_t count, void* elements) {
  auto* const to = static_cast<uint16_t*>(elements);
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = kToBits(values[i]);
  });
}

template <ToFloat kToFloat>
void load(const void* elements, int64_t count, float* values) {
  const auto* const from = static_cast<const uint16_t*>(elements);
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = kToFloat(from[i]);
  });
}

}  // namespace

float rounded_to(ElementType type, float value) {
  if (type == ElementType::kFp16) return half_to_float(float_to_half(value));
  if (type == ElementType::kBf16) return bfloat16_to_float(float_to_bfloat16(value));
  check_float(type);
  return value;
}

void round_to(ElementType type, std::vector<float>& values) {
  if (type == ElementType::kFp32) return;
  parallel_for(static_cast<int64_t>(values.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float& value = values[static_cast<size_t>(i)];
      value = rounded_to(type, value);
    }
  });
}

void store_floats(ElementType type, const float* values, int64_t count, void* elements) {
  check_float(type);
  if (type == ElementType::kFp16) return store<float_to_half>(values, count, elements);
  if (type == ElementType::kBf16) return store<float_to_bfloat16>(values, count, elements);
  if (count > 0) std::memcpy(elements, values, static_cast<size_t>(count) * sizeof(float));
}

void load_floats(ElementType type, const void* elements, int64_t count, float* values) {
  check_float(type);
  if (type == ElementType::kFp16) return load<half_to_float>(elements, count, values);
  if (type == ElementType::kBf16) return load<bfloat16_to_float>(elements, count, values);
  if (count > 0) std::memcpy(values, elements, static_cast<size_t>(count) * sizeof(float));
}

std::vector<float> stored_floats(ElementType type, const float* values, int64_t count) {
  std::vector<float> elements(ceil_div(bytes_of(type, count), sizeof(float)), 0.0f);
  store_floats(type, values, count, elements.data());
  return elements;
}

}  // namespace lenslet
