// ONNX files for tests, written field by field: valid ones and every kind of damage.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lenslet::test::onnx {

/// A protobuf message.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  /// An entry of a ModelProto's metadata.
  Message& metadata(const std::string& key, const std::string& value) {
    return message(14, Message().text(1, key).text(2, value));
  }
  /// Packed varints.
  Message& integers(int field, const std::vector<int64_t>& values) {
    Message packed;
    for (const int64_t value : values) packed.varint(static_cast<uint64_t>(value));
    return message(field, packed);
  }
  /// Packed fixed-size numbers.
  template <class Number>
  Message& numbers(int field, const std::vector<Number>& values) {
    return text(field, raw(values));
  }
  template <class Number>
  static std::string raw(const std::vector<Number>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
  }
  const std::string& bytes() const { return bytes_; }
  std::vector<uint8_t> file() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

inline constexpr int kFloat = 1, kInt64 = 7, kString = 8, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;

/// A TensorProto without values; add raw_data (9), float_data (4) or another.
inline Message tensor(const std::string& name, int type, const std::vector<int64_t>& dims) {
  return Message().integers(1, dims).integer(2, type).text(8, name);
}
inline Message floats(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
  return tensor(name, kFloat, dims).text(9, Message::raw(values));
}
inline Message int64s(const std::string& name, const std::vector<int64_t>& values) {
  return tensor(name, kInt64, {static_cast<int64_t>(values.size())}).integers(7, values);
}

/// A ValueInfoProto; -1 is a free size.
inline Message value(const std::string& name, const std::vector<int64_t>& dims, int type = kFloat) {
  Message shape;
  for (const int64_t dim : dims)
    shape.message(1, dim < 0 ? Message().text(2, "N") : Message().integer(1, dim));
  return Message().text(1, name).message(2,
                                         Message().message(1, Message().integer(1, type).message(2, shape)));
}

inline Message attribute(const std::string& name, int64_t number) {
  return Message().text(1, name).integer(3, number).integer(20, 2);
}
inline Message attribute(const std::string& name, const std::vector<int64_t>& numbers) {
  return Message().text(1, name).integers(8, numbers).integer(20, 7);
}

inline Message node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                    const std::vector<Message>& attributes = {}) {
  Message node;
  for (const std::string& input : inputs) node.text(1, input);
  node.text(2, output).text(3, output + "_node").text(4, op);
  for (const Message& each : attributes) node.message(5, each);
  return node;
}

struct GraphParts {
  std::vector<Message> nodes, initializers, inputs, outputs;
};

inline Message model_of(const GraphParts& parts, int64_t opset = 13) {
  Message graph;
  for (const Message& each : parts.nodes) graph.message(1, each);
  graph.text(2, "graph");
  for (const Message& each : parts.initializers) graph.message(5, each);
  for (const Message& each : parts.inputs) graph.message(11, each);
  for (const Message& each : parts.outputs) graph.message(12, each);
  return Message().integer(1, 8).text(2, "test").message(7, graph).message(
      8, Message().text(1, "").integer(2, opset));
}

/// x [N, 3, 2, 2] -> y [N, 3], the means of its channels.
inline GraphParts channel_means() {
  GraphParts parts;
  parts.inputs = {value("x", {-1, 3, 2, 2})};
  parts.nodes = {node("GlobalAveragePool", {"x"}, "m", {}), node("Flatten", {"m"}, "y", {})};
  parts.outputs = {value("y", {-1, 3})};
  return parts;
}

/// relu(x [N, 2]) with an initializer that is added to it.
inline GraphParts small_graph() {
  return {{node("Add", {"x", "b"}, "sum"), node("Relu", {"sum"}, "y")},
          {floats("b", {2}, {1, -1})},
          {value("x", {-1, 2})},
          {value("y", {-1, 2})}};
}

}  // namespace lenslet::test::onnx
