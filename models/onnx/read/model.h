// Internal: an ONNX model as its file states it. Every length and count is checked when it is read (reader.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/byte_source.h"

namespace lenslet::onnx {

/// TensorProto.DataType, as far as Lenslet reads values of it.
enum class ValueType : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16
};
/// "float", "int64"; "type 17" for one that Lenslet does not read.
std::string to_string(ValueType type);
/// Whether it is read as fp32.
bool is_floating(ValueType type) noexcept;

/// Bytes of a file that are read when they are needed.
struct FilePart {
  std::shared_ptr<const ByteSource> source;  // null: there are none
  uint64_t offset = 0, bytes = 0;
};

/// A constant tensor. Its values stay in the file until they are read (tensor_values.h).
struct TensorData {
  std::string name;
  ValueType type = ValueType::kFloat;
  std::vector<int64_t> dims;  // outermost first
  int64_t count = 1;          // product of dims
  bool is_raw = false;      // values in `part` or `raw`, little-endian; else in the typed fields of `message`
  FilePart part;            // where large values lie: in the model's file or an external one
  std::string_view raw;     // raw_data
  std::string_view floats;  // float_data, if it is in one piece
  std::string_view message;  // the TensorProto
  std::string location;      // of the external file, relative to the model's folder; empty: in the model
  uint64_t offset = 0;       // in the external file, bytes
  std::optional<uint64_t> length;  // in the external file, bytes; none: to its end
};

/// AttributeProto.AttributeType, as far as Lenslet reads such attributes.
enum class AttributeKind : int {
  kNone = 0,  // neither a value nor a type
  kReal = 1,
  kInteger = 2,
  kText = 3,
  kTensor = 4,
  kGraph = 5,
  kReals = 6,
  kIntegers = 7,
  kGraphs = 10
};
/// "a float", "a list of ints"; "of type 14" for one that Lenslet does not read.
std::string to_string(AttributeKind kind);

/// An attribute of a node. Only the member of its kind is set.
struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::kNone;
  std::optional<float> real;
  std::optional<int64_t> integer;
  std::optional<std::string> text;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::optional<TensorData> tensor;
  bool has_graph = false;  // a branch or a loop body
  std::string_view graph;  // its GraphProto, unless it is one of several; read where branches.h needs it
};

struct Node {
  std::shared_ptr<const std::string> origin;  // the file, as messages name it
  std::string name;                           // "Conv_3" if the file has none
  std::string op;                             // "Conv"
  std::vector<std::string> inputs, outputs;   // names of values; empty: left out
  std::vector<Attribute> attributes;

  /// Null if the node has no attribute of that name.
  const Attribute* find(std::string_view attribute) const;
  /// The value of an attribute, or the fallback if it is absent. Throws DataError if it is of another kind.
  int64_t integer_or(std::string_view attribute, int64_t fallback) const;
  float real_or(std::string_view attribute, float fallback) const;              ///< Likewise.
  std::string text_or(std::string_view attribute, const char* fallback) const;  ///< Likewise.
  std::vector<int64_t> integers_or(std::string_view attribute,
                                   std::vector<int64_t> fallback) const;  ///< Likewise.

 private:
  /// Null if the node has no attribute of that name. Throws DataError if it is of another kind.
  const Attribute* find(std::string_view attribute, AttributeKind kind) const;
};

/// An input or output of the graph.
struct ValueInfo {
  /// A size, or -1 and the file's name for it, which may be empty.
  struct Dim {
    int64_t size = -1;
    std::string symbol;
  };
  std::string name;
  ValueType type = ValueType::kFloat;
  bool has_shape = false;
  std::vector<Dim> dims;
  /// "1x1x28x28", "Nx1x28x28", "?" without a shape.
  std::string shape_text() const;
};

struct Model {
  int64_t ir_version = 0;
  int64_t opset = 0;  // of the default operator set
  std::string producer, producer_version, graph_name;
  std::map<std::string, std::string> metadata;
  std::vector<Node> nodes;                         // each reads only what stands before it
  std::map<std::string, TensorData> initializers;  // by name
  std::vector<ValueInfo> inputs;                   // without those that an initializer sets
  std::vector<ValueInfo> outputs;
  std::shared_ptr<const std::vector<uint8_t>> structure;  // owns the bytes that tensors and attributes view
  std::vector<std::string> external_files;  // paths of those that hold values beside the model's file
};

}  // namespace lenslet::onnx
