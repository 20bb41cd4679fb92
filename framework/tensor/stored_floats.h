// Numbers as a tensor of fp32, fp16 or bf16 stores them, from and to fp32 values in host memory. With any other type
// the functions throw DataError.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/tensor/element_type.h"

namespace lenslet {

/// `value` rounded to `type`: to nearest, ties to even. What is too large becomes infinite; NaN stays NaN.
float rounded_to(ElementType type, float value);
/// rounded_to() for each value, with all threads.
void round_to(ElementType type, std::vector<float>& values);
/// Writes `values` [count], rounded, to `elements`: bytes_of(type, count) bytes.
void store_floats(ElementType type, const float* values, int64_t count, void* elements);
/// Reads `count` elements, exactly.
void load_floats(ElementType type, const void* elements, int64_t count, float* values);

/// `values` as elements of `type`, four bytes a float, zeros after the last.
std::vector<float> stored_floats(ElementType type, const float* values, int64_t count);

}  // namespace lenslet
