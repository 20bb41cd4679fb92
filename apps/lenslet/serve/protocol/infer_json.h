// The JSON of an inference request, before it is compared with a model. Internal: read_infer_request() uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet::serve {

/// A member of a request's list `inputs`: a tensor with its values.
struct InferInput {
  std::string name, datatype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<float>> data;  // flat, whatever its nesting
  std::optional<int64_t> binary_size;      // bytes after the JSON
};

/// A member of its list `outputs`: a tensor that the client requests.
struct InferOutput {
  std::string name;
  std::optional<bool> binary;  // parameters.binary_data
};

/// The members that the protocol names. Unknown members and parameters are ignored, as it requires.
struct InferJson {
  std::optional<std::string> id;
  std::vector<InferInput> inputs;
  std::vector<InferOutput> outputs;
  bool binary_outputs = false;  // parameters.binary_data_output
};

/// Throws DataError with the place: "inputs[0].shape: expected …". `max_values` limits `data`.
InferJson parse_infer_json(std::string_view text, size_t max_values);

}  // namespace lenslet::serve
