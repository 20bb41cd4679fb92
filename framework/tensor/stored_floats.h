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
/// Writes `values` [count], rounded as by rounded_to(), to `elements`: bytes_of(type, count) bytes.
void store_floats(ElementType type, const float* values, int64_t count, void* elements);
/// Reads `elements` [count] to `values`. Every element is exact in fp32.
void load_floats(ElementType type, const void* elements, int64_t count, float* values);

/// The bytes of `values` [count] as elements of `type`, in whole floats; bytes after the last element are zero.
std::vector<float> stored_floats(ElementType type, const float* values, int64_t count);

}  // namespace lenslet
