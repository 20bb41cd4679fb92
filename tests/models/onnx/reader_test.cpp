// The ONNX reader: what it accepts, and each kind of damage with its message.
#include "models/onnx/model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>

#include "framework/base/error.h"
#include "models/onnx/import/import.h"
#include "models/onnx/network.h"
#include "models/onnx/read/structure.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/shape/shapes.h"
#include "models/onnx/summary.h"
#include "tests/io/crafted_files.h"
#include "tests/models/onnx/import_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet::test::onnx {
namespace {

using lenslet::onnx::Model;
using lenslet::onnx::parse_model;

void expect_refused(const std::function<void()>& read, const std::string& fragment) {
  expect_error<DataError>(read, fragment, "m.onnx");
}

void expect_refused(const GraphParts& parts, const std::string& fragment) {
  expect_refused([&] { parse(parts); }, fragment);
}

// The first values of the initializer `b` of a graph with that tensor.
std::vector<float> values_of(const Message& tensor) {
  GraphParts parts = small_graph();
  parts.initializers = {tensor};
  return lenslet::onnx::float_values(parse(parts).initializers.at("b"), "m.onnx");
}

TEST(OnnxReader, ReadsAGraph) {
  const Model model = parse(small_graph());
  EXPECT_EQ(model.opset, 13);
  EXPECT_EQ(model.producer, "test");
  ASSERT_EQ(model.nodes.size(), 2u);
  EXPECT_EQ(model.nodes[1].op, "Relu");
  EXPECT_EQ(model.inputs.at(0).shape_text(), "Nx2");
  EXPECT_EQ(lenslet::onnx::infer_values(model, "m.onnx").at("y").shape->to_string(), "1x2");
}

TEST(OnnxReader, ReadsWeightsOfEveryFloatingType) {
  const std::vector<float> wanted = {1.5f, -2.0f};
  EXPECT_EQ(values_of(floats("b", {2}, wanted)), wanted);
  EXPECT_EQ(values_of(tensor("b", kFloat, {2}).numbers<float>(4, wanted)), wanted);
  EXPECT_EQ(values_of(tensor("b", kFloat, {2}).real(4, 1.5f).real(4, -2.0f)), wanted);
  EXPECT_EQ(values_of(tensor("b", kDouble, {2}).numbers<double>(10, {1.5, -2.0})), wanted);
  EXPECT_EQ(values_of(tensor("b", kDouble, {2}).text(9, Message::raw<double>({1.5, -2.0}))), wanted);
  EXPECT_EQ(values_of(tensor("b", kFloat16, {2}).integers(5, {0x3e00, 0xc000})), wanted);
  EXPECT_EQ(values_of(tensor("b", kFloat16, {2}).text(9, Message::raw<uint16_t>({0x3e00, 0xc000}))), wanted);
  EXPECT_EQ(values_of(tensor("b", kBfloat16, {2}).text(9, Message::raw<uint16_t>({0x3fc0, 0xc000}))), wanted);
}

// Protobuf writers leave a zero, an empty text and an empty list out; the type states what it is.
TEST(OnnxReader, TakesAnAttributeWithoutAValueForZero) {
  const auto typed = [](const std::string& name, int type) {
    return Message().text(1, name).integer(20, type);
  };
  GraphParts parts = small_graph();
  parts.nodes[1] = node("Relu", {"sum"}, "y",
                        {typed("real", 1), typed("integer", 2), typed("text", 3), typed("list", 7),
                         Message().text(1, "untyped").integer(3, 5)});
  const Model model = parse(parts);
  const lenslet::onnx::Node& read = model.nodes[1];
  EXPECT_EQ(read.real_or("real", 1), 0);
  EXPECT_EQ(read.integer_or("integer", 1), 0);
  EXPECT_EQ(read.text_or("text", "NOTSET"), "");
  EXPECT_TRUE(read.integers_or("list", {1}).empty());
  EXPECT_EQ(read.integer_or("untyped", 1), 5);
  EXPECT_EQ(read.integer_or("absent", 1), 1);
}

TEST(OnnxReader, RefusesAttributesOfAnotherKind) {
  GraphParts parts = small_graph();
  parts.nodes[1] = node("Relu", {"sum"}, "y", {attribute("number", 2), attribute("list", {2, 3})});
  const Model model = parse(parts);
  const lenslet::onnx::Node& read = model.nodes[1];
  expect_refused([&] { read.real_or("number", 1); },
                 "node \"y_node\" (Relu): attribute \"number\" is an int, expected a float");
  expect_refused([&] { read.integers_or("number", {}); }, "is an int, expected a list of ints");
  expect_refused([&] { read.text_or("number", ""); }, "is an int, expected a string");
  expect_refused([&] { read.integer_or("list", 1); }, "is a list of ints, expected an int");
  parts.nodes[1] = node("Relu", {"sum"}, "y", {Message().text(1, "alpha").integer(3, 2).integer(20, 1)});
  expect_refused(parts, "attribute \"alpha\" holds an int, but states that it is a float");
  parts.nodes[1] = node("Squeeze", {"sum"}, "y", {attribute("axes", 1)});
  expect_refused([&] { lenslet::onnx::infer_values(parse(parts, 11), "m.onnx"); },
                 "attribute \"axes\" is an int, expected a list of ints");
}

TEST(OnnxReader, TreatsAnInputWithAValueAsAConstant) {
  GraphParts parts = small_graph();
  parts.inputs.push_back(value("b", {2}));
  const Model model = parse(parts, 7);
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].name, "x");
}

TEST(OnnxReader, RefusesOtherOperatorSets) {
  expect_refused([] { parse(small_graph(), 5); }, "from 6 to 23, found 5");
  expect_refused([] { parse(small_graph(), 24); }, "found 24");
}

TEST(OnnxReader, RefusesEveryTruncation) {
  const std::vector<uint8_t> whole = model_of(small_graph()).file();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse_model({whole.begin(), whole.begin() + static_cast<long>(size)}, "m.onnx"), DataError)
        << size;
}

// A file with any one bit changed is another network or a DataError: nothing else is thrown, and nothing crashes.
TEST(OnnxReader, ReadsOrRefusesEveryFlippedBit) {
  GraphParts parts = small_graph();
  parts.nodes.push_back(node("MatMul", {"y", "w"}, "z"));
  parts.initializers.push_back(floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  parts.outputs = {value("z", {-1, 3})};
  const std::vector<uint8_t> whole = model_of(parts).file();
  int read = 0, refused = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<uint8_t> flipped = whole;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    try {
      import(parse_model(flipped, "m.onnx"));
      ++read;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 0);  // such as a weight of another value
  EXPECT_GT(refused, 0);
}

// Values above kMaxKept bytes, each number another.
std::vector<float> many_values() {
  std::vector<float> values(lenslet::onnx::kMaxKept / sizeof(float) + 1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 0.5f;
  return values;
}

// small_graph() whose constant is one of `count` values, cut down to the two that the graph adds.
GraphParts graph_of_large(const Message& constant, const char* name = "large") {
  GraphParts parts = small_graph();
  parts.nodes[0] = node("Slice", {name, "begin", "end"}, "b");
  parts.nodes.insert(parts.nodes.begin() + 1, node("Add", {"x", "b"}, "sum"));
  parts.initializers = {constant, int64s("begin", {1}), int64s("end", {3})};
  return parts;
}

lenslet::onnx::Structure structure_of(const std::vector<uint8_t>& file) {
  return lenslet::onnx::read_structure(std::make_shared<const MemoryBytes>(file), "m.onnx");
}

TEST(OnnxReader, LeavesLargeValuesInTheFile) {
  const std::vector<float> values = many_values();
  const auto count = static_cast<int64_t>(values.size());
  const Message raw = floats("large", {count}, values);
  const Message packed = tensor("large", kFloat, {count}).numbers<float>(4, values);
  for (const Message& large : {raw, packed}) {
    const std::vector<uint8_t> file = model_of(graph_of_large(large)).file();
    const lenslet::onnx::Structure structure = structure_of(file);
    ASSERT_EQ(structure.left_out.size(), 1u);
    EXPECT_EQ(structure.left_out.begin()->second.bytes, values.size() * sizeof(float));
    EXPECT_LT(structure.bytes.size(), file.size() / 2);
    EXPECT_EQ(values_of(Message(large).text(8, "b")), values);
  }
  std::vector<float> pieces(200000);  // more than is read at a time
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<float>(i);
  EXPECT_EQ(values_of(floats("b", {200000}, pieces)), pieces);
  const std::vector<double> doubles(values.begin(), values.end());
  EXPECT_EQ(values_of(tensor("b", kDouble, {count}).numbers<double>(10, doubles)), values);
  EXPECT_EQ(values_of(tensor("b", kDouble, {count}).text(9, Message::raw(doubles))), values);
  // Values that a Constant holds stay in the file too.
  GraphParts parts = small_graph();
  parts.initializers.clear();
  parts.nodes.insert(parts.nodes.begin(),
                     node("Constant", {}, "b", {Message().text(1, "value").message(5, raw)}));
  EXPECT_EQ(structure_of(model_of(parts).file()).left_out.size(), 1u);
  EXPECT_EQ(lenslet::onnx::float_values(*parse(parts).nodes.at(0).attributes.at(0).tensor, "m.onnx"), values);
}

TEST(OnnxReader, RefusesLargeValuesThatDoNotFitTheirTensor) {
  const std::vector<float> values = many_values();
  const auto count = static_cast<int64_t>(values.size());
  std::vector<float> bad = values;
  bad.back() = NAN;
  const auto with = [](const Message& large) { return graph_of_large(large); };
  expect_refused(with(floats("large", {count}, bad)), "1 of its 257 values are NaN or infinite");
  expect_refused(with(floats("large", {count + 1}, values)), "take 1032 bytes, found 1028");
  expect_refused(with(tensor("large", kFloat, {count + 1}).numbers<float>(4, values)),
                 "take 1032 bytes, found 1028");
  expect_refused(
      with(tensor("large", kFloat, {2 * count}).numbers<float>(4, values).numbers<float>(4, values)),
      "state 514 values, found 0");
  expect_refused(with(tensor("large", kDouble, {count}).numbers<float>(4, values)), "found 0");
}

TEST(OnnxReader, RefusesEveryTruncationOfALargeTensor) {
  const GraphParts parts = graph_of_large(floats("large", {257}, many_values()));
  EXPECT_NO_THROW(parse(parts));
  const std::vector<uint8_t> whole = model_of(parts).file();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse_model({whole.begin(), whole.begin() + static_cast<long>(size)}, "m.onnx"), DataError)
        << size;
}

TEST(OnnxReader, BoundsTheWeightsOfAllTensors) {
  const TemporaryFolder folder;
  folder.write("w.data", {});
  std::filesystem::resize_file(folder / "w.data", uint64_t{5} << 30);  // takes no space on the disk
  GraphParts parts = small_graph();
  const auto add = [&](const std::string& name, int64_t count) {
    Message external = tensor(name, kFloat, {count}).integer(14, 1);
    external.message(13, Message().text(1, "location").text(2, "w.data"));
    parts.initializers.push_back(external.message(
        13,
        Message().text(1, "length").text(2, std::to_string(static_cast<uint64_t>(count) * sizeof(float)))));
  };
  add("few", 1000);
  const auto read = [&] { return lenslet::onnx::read_model(folder.write("m.onnx", model_of(parts).file())); };
  EXPECT_EQ(read().initializers.at("few").count, 1000);
  add("many", lenslet::onnx::kMaxWeights - 1000);
  expect_refused(read, "more than 536870912 values together");  // with the two of the graph
}

TEST(OnnxReader, RefusesGraphsThatAreNotWhole) {
  GraphParts cyclic = small_graph();
  cyclic.nodes = {node("Add", {"x", "y"}, "sum"), node("Relu", {"sum"}, "y")};
  expect_refused(cyclic, "produces later; the graph has a cycle");
  GraphParts missing = small_graph();
  missing.initializers.clear();
  expect_refused(missing, "reads \"b\", which is no input");
  GraphParts twice = small_graph();
  twice.nodes.push_back(node("Relu", {"x"}, "y"));
  expect_refused(twice, "a value has one producer");
  GraphParts no_output = small_graph();
  no_output.outputs = {value("z", {1})};
  expect_refused(no_output, "the graph's output reads \"z\"");
}

TEST(OnnxReader, RefusesBadTensors) {
  const auto with = [](const Message& bad) {
    GraphParts parts = small_graph();
    parts.initializers = {bad};
    return parts;
  };
  const int64_t large = int64_t{1} << 32;
  expect_refused(with(tensor("b", kFloat, {large, large}).text(9, "")), "exceeds 2^40");
  expect_refused(with(tensor("b", kFloat, {0, large, large}).text(9, "")), "exceeds 2^40");
  expect_refused(with(tensor("b", kFloat, {-2}).text(9, "")), "a dimension of -2");
  expect_refused(with(tensor("b", kFloat, {1 << 30}).text(9, "1234")), "take 4294967296 bytes, found 4");
  expect_refused(with(tensor("b", kFloat, {3}).numbers<float>(4, {1, 2})), "state 3 values, found 2");
  expect_refused(with(floats("b", {2}, {1, NAN})), "1 of its 2 values are NaN or infinite");
  expect_refused(with(tensor("b", kDouble, {1}).numbers<double>(10, {1e300})), "NaN or infinite");
  expect_refused(with(tensor("b", kString, {1}).text(6, "word")), "found string");
  expect_refused(with(tensor("b", kFloat, {2}).text(4, "12345")), "a multiple of 4");
  expect_refused(with(tensor("b", kFloat, {1, 1, 1, 1, 1, 1, 1, 1, 1})), "more than 8 dimensions");
}

TEST(OnnxReader, RefusesTypesBeyondTheir32Bits) {
  constexpr int64_t kBeyond = int64_t{1} << 32, kFloats = kBeyond + kFloat;  // float, cut to 32 bits
  GraphParts parts = small_graph();
  parts.initializers = {Message().integers(1, {2}).integer(2, kFloats).text(8, "b").text(9, "12345678")};
  expect_refused(parts, "TensorProto: field 2 is 4294967297, expected a number of 32 bits");
  parts.initializers = {tensor("b", kFloat, {2}).text(9, "12345678").integer(14, kBeyond)};
  expect_refused(parts, "TensorProto: field 14 is 4294967296, expected");
  parts = small_graph();
  parts.inputs = {Message().text(1, "x").message(2, Message().message(1, Message().integer(1, kFloats)))};
  expect_refused(parts, "TypeProto.Tensor: field 1 is 4294967297, expected");
  parts = small_graph();
  parts.nodes[1] =
      node("Relu", {"sum"}, "y", {Message().text(1, "alpha").integer(3, 2).integer(20, kBeyond + 2)});
  expect_refused(parts, "AttributeProto: field 20 is 4294967298, expected");
  parts.nodes[1] =
      node("Relu", {"sum"}, "y", {Message().text(1, "alpha").integer(3, 2).integer(20, -kBeyond)});
  expect_refused(parts, "field 20 is -4294967296, expected");
}

TEST(OnnxReader, RefusesTwoAttributesOfOneName) {
  GraphParts parts = small_graph();
  parts.nodes[1] = node("Softmax", {"sum"}, "y", {attribute("axis", 1), attribute("axis", 0)});
  expect_refused(parts, "node 1 has two attributes \"axis\"");
}

TEST(OnnxReader, ListsNodesOfOtherDomains) {
  GraphParts parts = small_graph();
  parts.nodes[1].text(7, "com.example");
  expect_refused(parts, "1 nodes use operators outside the ONNX operator set: y_node (com.example.Relu)");
}

TEST(OnnxReader, HandlesAMillionNodesAndDeepNestingInTenSeconds) {
  const auto start = std::chrono::steady_clock::now();
  GraphParts many = small_graph();
  many.nodes.assign(1000000, node("Relu", {"x"}, ""));
  expect_refused(many, "more than 20000 nodes");
  Message deep;
  for (int i = 0; i < 3000; ++i) {
    const Message inner =
        Message().text(4, "If").message(5, Message().text(1, "then_branch").message(6, deep));
    deep = Message().message(1, inner);
  }
  GraphParts nested = small_graph();
  nested.nodes.push_back(node("If", {"x"}, "z", {Message().text(1, "then_branch").message(6, deep)}));
  EXPECT_EQ(parse(nested).nodes.size(), 3u);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 10);
}

TEST(OnnxReader, ReadsExternalDataInsideTheFolderOnly) {
  const TemporaryFolder folder;
  const auto with_location = [&](const std::string& location, const std::string& offset = "4") {
    GraphParts parts = small_graph();
    Message external = tensor("b", kFloat, {2}).integer(14, 1);
    external.message(13, Message().text(1, "location").text(2, location));
    external.message(13, Message().text(1, "offset").text(2, offset));
    external.message(13, Message().text(1, "length").text(2, "8"));
    parts.initializers = {external};
    return folder.write("m.onnx", model_of(parts).file());
  };
  const std::string raw = Message::raw<float>({9, 1.5f, -2});
  folder.write("w.data", {raw.begin(), raw.end()});
  using lenslet::onnx::read_model;
  const Model model = read_model(with_location("w.data"));
  EXPECT_EQ(lenslet::onnx::float_values(model.initializers.at("b"), ""), (std::vector<float>{1.5f, -2}));
  expect_refused([&] { read_model(with_location("w.data", "8")); },
                 "8 bytes at offset 8 of \"w.data\", which has 12");
  expect_refused([&] { read_model(with_location("w.data", "-4")); }, "expected a whole number");
  expect_refused([&] { read_model(with_location("../w.data")); }, "expected a relative path inside");
  expect_refused([&] { read_model(with_location("/etc/passwd")); }, "expected a relative path inside");
  expect_refused([&] { read_model(with_location("")); }, "expected a relative path inside");
  ASSERT_EQ(symlink("/etc/passwd", (folder / "link.data").c_str()), 0);
  expect_refused([&] { read_model(with_location("link.data")); }, "lead out of the model's folder");
  EXPECT_THROW(read_model(with_location("none.data")), DataError);
}

// Counts what is read of it.
class CountedBytes final : public ByteSource {
 public:
  explicit CountedBytes(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const noexcept override { return bytes_.size(); }
  void read(uint64_t offset, void* into, size_t bytes) const override {
    read_ += bytes;
    bytes_.read(offset, into, bytes);
  }
  size_t bytes_read() const { return read_; }

 private:
  MemoryBytes bytes_;
  mutable size_t read_ = 0;
};

// One weight of many is NaN: a reader of the weights refuses them.
GraphParts product_and(const std::string& op, int64_t rows, int64_t columns) {
  std::vector<float> weights(static_cast<size_t>(rows * columns), 1.0f);
  weights.back() = NAN;
  return {{node("MatMul", {"x", "w"}, "m"), node(op, {"m"}, "y")},
          {floats("w", {rows, columns}, weights)},
          {value("x", {-1, rows})},
          {value("y", {-1, columns})}};
}

constexpr int64_t kManyRows = 2048, kManyColumns = lenslet::onnx::kReadAtOnce / kManyRows + 1;

TEST(OnnxReader, ChecksOperatorsBeforeItReadsManyWeights) {
  const auto parsed = [](const std::shared_ptr<const ByteSource>& file) {
    parse_model(file, "m.onnx", {},
                [](const Model& model) { lenslet::onnx::check_operators(model, "m.onnx"); });
  };
  const auto source = [](const std::string& op, int64_t rows, int64_t columns) {
    return std::make_shared<const CountedBytes>(model_of(product_and(op, rows, columns)).file());
  };
  const auto refused = source("Acos", kManyRows, kManyColumns), read = source("Relu", 512, 512);
  expect_refused([&] { parsed(refused); }, "m.onnx: y_node: operator Acos is not supported");
  EXPECT_LT(refused->bytes_read(), 1U << 16);
  expect_refused([&] { parsed(read); }, "1 of its 262144 values are NaN");
  EXPECT_GE(read->bytes_read(), 1U << 20);
}

TEST(OnnxReader, ChecksOperatorsBeforeItReadsManyExternalWeights) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& op) {
    GraphParts parts = product_and(op, kManyRows, kManyColumns);
    Message external = tensor("w", kFloat, {kManyRows, kManyColumns}).integer(14, 1);
    external.message(13, Message().text(1, "location").text(2, "w.data"));
    parts.initializers = {external};
    return folder.write("m.onnx", model_of(parts).file());
  };
  std::vector<float> weights(static_cast<size_t>(kManyRows * kManyColumns), NAN);
  const std::string raw = Message::raw(weights);
  folder.write("w.data", {raw.begin(), raw.end()});
  expect_refused([&] { lenslet::onnx::read_network(file("Acos")); }, "operator Acos is not supported");
  expect_refused([&] { lenslet::onnx::read_network(file("Relu")); }, " values are NaN");
}

// The operator is refused by its name alone, the padding by the value of a constant: both stand in one message.
TEST(OnnxReader, ListsAllRefusalsOfAModelOfFewWeightsAtOnce) {
  const TemporaryFolder folder;
  const Message edge = Message().text(1, "mode").text(4, "edge").integer(20, 3);
  GraphParts parts{{node("Pad", {"x", "pads"}, "p", {edge}), node("Acos", {"p"}, "y")},
                   {int64s("pads", {0, 0, 1, 1, 0, 0, 1, 1})},
                   {value("x", {-1, 1, 4, 4})},
                   {value("y", {-1, 1, 6, 6})}};
  const std::string file = folder.write("m.onnx", model_of(parts).file());
  expect_refused([&] { lenslet::onnx::read_network(file); },
                 "p_node: Pad is supported with a constant only; y_node: operator Acos is not supported");
}

TEST(OnnxReader, NotesAnOutputOfAnotherShapeThanDeclared) {
  const auto note = [](const std::vector<int64_t>& dims) {
    GraphParts parts = small_graph();
    parts.outputs = {value("y", dims)};
    const Model model = parse(parts);
    return lenslet::onnx::note_of_output(model, lenslet::onnx::infer_values(model, "m.onnx"), "m.onnx");
  };
  EXPECT_EQ(note({-1, 2}), "");
  EXPECT_EQ(note({1, 2}), "");
  EXPECT_EQ(note({-1, -1}), "");
  EXPECT_EQ(note({-1, 3}),
            "m.onnx declares its output \"y\" as Nx3, but its nodes compute 1x2 of one sample, which Lenslet "
            "returns");
  EXPECT_NE(note({-1}), "");
}

TEST(OnnxShapes, FollowTheNumbersOfAReshape) {
  // x.view(x.size(0), -1) as PyTorch's tracing exporter writes it.
  GraphParts parts{
      {node("Shape", {"x"}, "s"), node("Gather", {"s", "zero"}, "n"), node("Unsqueeze", {"n", "axes"}, "n1"),
       node("Concat", {"n1", "minus"}, "to", {attribute("axis", 0)}), node("Reshape", {"x", "to"}, "y")},
      {tensor("zero", kInt64, {}).integers(7, {0}), int64s("axes", {0}), int64s("minus", {-1})},
      {value("x", {-1, 16, 4, 4})},
      {value("y", {-1, 256})}};
  const Model model = parse(parts);
  const auto values = lenslet::onnx::infer_values(model, "m.onnx");
  EXPECT_EQ(values.at("y").shape->to_string(), "1x256");
  const auto summary = lenslet::onnx::summarise(model, values, import(model).node_results);
  EXPECT_EQ(summary.constant_nodes, 4);
  ASSERT_EQ(summary.nodes.size(), 1u);
  EXPECT_EQ(summary.nodes[0].layer, "none");
}

// 5 / 2 is 2.5 as floats, which Lenslet does not follow, and 2 as whole numbers.
TEST(OnnxShapes, FollowWholeNumbersOnly) {
  const auto half = [](int64_t type) {
    GraphParts parts{{node("Cast", {"five"}, "a", {attribute("to", type)}),
                      node("Cast", {"two"}, "b", {attribute("to", type)}), node("Div", {"a", "b"}, "half"),
                      node("Add", {"x", "c"}, "y")},
                     {int64s("five", {5}), int64s("two", {2}), floats("c", {2}, {1, 2})},
                     {value("x", {-1, 2})},
                     {value("y", {-1, 2})}};
    return lenslet::onnx::infer_values(parse(parts), "m.onnx").at("half").integers;
  };
  const std::vector<int64_t> two = {2};
  EXPECT_EQ(half(7), two);
  EXPECT_EQ(half(6), two);
  EXPECT_FALSE(half(1).has_value());
  EXPECT_FALSE(half(11).has_value());
}

TEST(OnnxShapes, RefuseWindowsAndSizesThatDoNotFit) {
  const auto conv = [](const std::vector<int64_t>& x, const std::vector<int64_t>& pads) {
    GraphParts parts{{node("Conv", {"x", "w"}, "y", {attribute("pads", pads)})},
                     {floats("w", {1, 1, 5, 5}, std::vector<float>(25))},
                     {value("x", x)},
                     {value("y", {-1})}};
    return lenslet::onnx::infer_values(parse(parts), "m.onnx").at("y").shape->to_string();
  };
  EXPECT_EQ(conv({-1, 1, 28, 28}, {0, 0, 0, 0}), "1x1x24x24");
  EXPECT_EQ(conv({-1, 1, 28, 28}, {1, 2, 2, 2}), "1x1x27x28");
  expect_refused([&] { conv({1, 1, 4, 4}, {0, 0, 0, 0}); }, "is larger than the padded input");
  expect_refused([&] { conv({1, 2, 28, 28}, {0, 0, 0, 0}); }, "do not fit input");
  expect_refused([&] { conv({1, 1, 28, 28}, {0, 0, 0, 1 << 30}); }, "expected pads from 0");
  expect_refused([&] { conv({1, 1, int64_t{1} << 40, int64_t{1} << 40}, {0, 0, 0, 0}); }, "2^31 - 1 values");
}

TEST(OnnxSummary, CountsSharedWeightsOnce) {
  GraphParts parts = small_graph();
  parts.nodes = {node("Add", {"x", "b"}, "once"), node("Mul", {"once", "b"}, "y")};
  const Model model = parse(parts);
  const auto values = lenslet::onnx::infer_values(model, "m.onnx");
  const auto summary = lenslet::onnx::summarise(model, values, import(model).node_results);
  EXPECT_EQ(summary.parameters, 2);
  EXPECT_EQ(summary.nodes.at(1).parameters, 0);
}

TEST(OnnxSummary, NamesEveryNodeWithoutALayer) {
  GraphParts parts = small_graph();
  parts.nodes = {
      node("Resize", {"x"}, "big"),
      node("MaxPool", {"image"}, "p",
           {attribute("ceil_mode", 1), attribute("kernel_shape", {2, 2}), attribute("strides", {2, 2})}),
      node("Round", {"p"}, "e"), node("Einsum", {"big", "e"}, "y")};
  parts.inputs.push_back(value("image", {1, 1, 5, 5}));
  const Model model = parse(parts);
  EXPECT_EQ(lenslet::onnx::faults_of(import(model), model),
            "the graph has 2 inputs and 1 outputs, expected one of each; big_node: operator Resize is not "
            "supported; e_node: operator Round is not supported; y_node: operator Einsum is not supported");
}

}  // namespace
}  // namespace lenslet::test::onnx
