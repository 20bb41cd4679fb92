// ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8, metadata_props 14.
// GraphProto: node 1, name 2, initializer 5, input 11, output 12, sparse_initializer 15.
// NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7.
// AttributeProto: name 1, f 2, i 3, s 4, t 5, g 6, floats 7, ints 8, graphs 11, type 20.
// OperatorSetIdProto: domain 1, version 2. StringStringEntryProto: key 1, value 2.

#include "models/onnx/read/reader.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file_guess.h"
#include "models/onnx/read/read_tensor.h"
#include "models/onnx/read/wire.h"

namespace lenslet::onnx {
namespace {

constexpr size_t kMaxText = 64 << 10;  // bytes of an attribute, a name or metadata; real ones have hundreds
constexpr size_t kMaxListed = 8;       // operators outside ONNX: a message of a few lines

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

template <class List, class Value>
void append(List& list, Value value, size_t max_count, const char* what, const WireMessage& message) {
  if (list.size() == max_count) message.fail(concat("more than ", max_count, " ", what));
  list.push_back(std::move(value));
}

// How many parts and numbers the limits leave to the graph and to the branches that are taken.
using Left = ModelReader::Left;

template <class List, class Value>
void append_part(List& list, Value value, Left& left, const WireMessage& message) {
  if (left.parts-- == 0)
    message.fail(concat("more than ", kMaxNodeParts, " inputs, outputs and attributes of nodes"));
  list.push_back(std::move(value));
}

template <class List, class Value>
void append_number(List& list, Value value, Left& left, const WireMessage& message) {
  if (left.numbers-- == 0) message.fail(concat("more than ", kMaxNumbers, " numbers in attributes"));
  list.push_back(value);
}

// What its members say; files of IR version 1 state no type.
AttributeKind held_kind(const Attribute& attribute) {
  if (attribute.real) return AttributeKind::kReal;
  if (attribute.integer) return AttributeKind::kInteger;
  if (attribute.text) return AttributeKind::kText;
  if (attribute.tensor) return AttributeKind::kTensor;
  if (attribute.has_graph) return AttributeKind::kGraph;
  if (!attribute.reals.empty()) return AttributeKind::kReals;
  return attribute.integers.empty() ? AttributeKind::kNone : AttributeKind::kIntegers;
}

// Writers leave a zero, an empty text and an empty list out and state the type alone.
void complete(Attribute& attribute, const WireMessage& message) {
  const AttributeKind held = held_kind(attribute);
  if (attribute.kind == AttributeKind::kNone) attribute.kind = held;
  const bool graphs = attribute.kind == AttributeKind::kGraphs && attribute.has_graph;
  if (held != AttributeKind::kNone && held != attribute.kind && !graphs)
    message.fail(concat("attribute \"", printable_excerpt(attribute.name, 60), "\" holds ", to_string(held),
                        ", but states that it is ", to_string(attribute.kind)));
  if (attribute.kind == AttributeKind::kReal && !attribute.real) attribute.real = 0.0f;
  if (attribute.kind == AttributeKind::kInteger && !attribute.integer) attribute.integer = 0;
  if (attribute.kind == AttributeKind::kText && !attribute.text) attribute.text = "";
}

Attribute read_attribute(std::string_view bytes, Left& left, const std::string& origin) {
  WireMessage message(bytes, "AttributeProto", origin);
  Attribute attribute;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        attribute.name = message.text(kMaxName);
        break;
      case 2:
        attribute.real = message.real();
        break;
      case 3:
        attribute.integer = message.integer();
        break;
      case 4:
        attribute.text = message.text(kMaxText);
        break;
      case 5:
        attribute.tensor = read_tensor(message.bytes(), origin);
        break;
      case 6:
        attribute.has_graph = true;
        attribute.graph = message.bytes();
        break;
      case 11:
        attribute.has_graph = true;
        message.skip();
        break;
      case 7:
        message.each<float>([&](float value) { append_number(attribute.reals, value, left, message); });
        break;
      case 8:
        message.each<int64_t>(
            [&](int64_t value) { append_number(attribute.integers, value, left, message); });
        break;
      case 20:
        attribute.kind = static_cast<AttributeKind>(message.small_integer());
        break;
      default:
        message.skip();
    }
  }
  complete(attribute, message);
  return attribute;
}

struct NodeOfDomain {
  Node node;
  std::string domain;
};

NodeOfDomain read_node(std::string_view bytes, size_t index, Left& left, const std::string& origin) {
  WireMessage message(bytes, "NodeProto", origin);
  Node node;
  std::string domain;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        append_part(node.inputs, message.text(kMaxName), left, message);
        break;
      case 2:
        append_part(node.outputs, message.text(kMaxName), left, message);
        break;
      case 3:
        node.name = message.text(kMaxName);
        break;
      case 4:
        node.op = message.text(kMaxName);
        break;
      case 5:
        append_part(node.attributes, read_attribute(message.bytes(), left, origin), left, message);
        break;
      case 7:
        domain = message.text(kMaxName);
        break;
      default:
        message.skip();
    }
  }
  if (node.op.empty()) message.fail(concat("node ", index, " has no operator"));
  std::set<std::string_view> names;
  for (const Attribute& attribute : node.attributes)
    if (!names.insert(attribute.name).second)
      message.fail(
          concat("node ", index, " has two attributes \"", printable_excerpt(attribute.name, 60), "\""));
  if (node.name.empty()) node.name = concat(node.op, "_", index);
  return {std::move(node), std::move(domain)};
}

void read_graph(std::string_view bytes, Model& model, Left& left, const std::string& origin) {
  WireMessage message(bytes, "GraphProto", origin);
  std::vector<std::string> foreign;
  size_t foreign_count = 0;
  const auto shared_origin = std::make_shared<const std::string>(origin);
  while (message.next()) {
    switch (message.field()) {
      case 1: {
        NodeOfDomain read = read_node(message.bytes(), model.nodes.size(), left, origin);
        read.node.origin = shared_origin;
        if (!is_default_domain(read.domain) && ++foreign_count <= kMaxListed)
          foreign.push_back(concat(printable_excerpt(read.node.name, 60), " (",
                                   printable_excerpt(read.domain, 40), ".",
                                   printable_excerpt(read.node.op, 40), ")"));
        append(model.nodes, std::move(read.node), kMaxNodes, "nodes", message);
        break;
      }
      case 2:
        model.graph_name = message.text(kMaxText);
        break;
      case 5: {
        TensorData tensor = read_tensor(message.bytes(), origin);
        if (tensor.name.empty()) message.fail("an initializer without a name");
        if (model.initializers.size() == kMaxValues)
          message.fail(concat("more than ", kMaxValues, " initializers"));
        const std::string name = tensor.name;
        if (!model.initializers.emplace(name, std::move(tensor)).second)
          message.fail(concat("two initializers are called \"", printable_excerpt(name), "\""));
        break;
      }
      case 11:
        append(model.inputs, read_value(message.bytes(), origin), kMaxValues, "inputs", message);
        break;
      case 12:
        append(model.outputs, read_value(message.bytes(), origin), kMaxValues, "outputs", message);
        break;
      case 15:
        message.fail("a sparse initializer; Lenslet reads dense tensors only");
      default:
        message.skip();
    }
  }
  if (!foreign.empty()) {
    throw DataError(concat(origin, ": ", foreign_count,
                           " nodes use operators outside the ONNX operator set: ", comma_list(foreign),
                           foreign_count > foreign.size() ? ", …" : ""));
  }
}

std::pair<std::string, std::string> read_entry(std::string_view bytes, const std::string& origin) {
  WireMessage message(bytes, "StringStringEntryProto", origin);
  std::pair<std::string, std::string> entry;
  while (message.next()) {
    if (message.field() == 1) {
      entry.first = message.text(kMaxName);
    } else if (message.field() == 2) {
      entry.second = message.text(kMaxText);
    } else {
      message.skip();
    }
  }
  return entry;
}

// The version of the default operator set; others may be imported, as long as no node uses them.
int64_t read_opset(std::string_view bytes, const std::string& origin) {
  WireMessage message(bytes, "OperatorSetIdProto", origin);
  std::string domain;
  int64_t version = 0;
  while (message.next()) {
    if (message.field() == 1) {
      domain = message.text(kMaxName);
    } else if (message.field() == 2) {
      version = message.integer();
    } else {
      message.skip();
    }
  }
  if (!is_default_domain(domain)) return 0;
  if (version < kFirstOpset || version > kLastOpset)
    throw DataError(concat(origin, ": expected an ONNX operator set from ", kFirstOpset, " to ", kLastOpset,
                           ", found ", version, "; export the model with opset_version=18"));
  return version;
}

// No message of ONNX begins as one of the other formats does.
void check_no_other_format(const ByteSource& file, const std::string& origin) {
  std::vector<uint8_t> begin(static_cast<size_t>(std::min<uint64_t>(kGuessBytes, file.size())));
  file.read(0, begin.data(), begin.size());
  const std::string guess = guess_format(begin.data(), begin.size(), "export the model by torch.onnx.export");
  if (!guess.empty() && guess != kOnnxModel)
    throw DataError(concat(origin, ": expected an ONNX model, found what seems to be ", guess,
                           guess == kSafetensorsFile ? "; --weights takes weights of LeNet-5" : ""));
}

}  // namespace

ModelReader::ModelReader(const std::shared_ptr<const ByteSource>& file, std::string origin,
                         ExternalFiles external)
    : origin_(std::move(origin)), external_(std::move(external)) {
  if (file->size() == 0) throw DataError(concat(origin_, ": the file is empty, expected an ONNX model"));
  check_no_other_format(*file, origin_);
  Structure structure = read_structure(file, origin_);
  bytes_ = std::make_shared<const std::vector<uint8_t>>(std::move(structure.bytes));
  left_out_ = std::move(structure.left_out);
  damaged_ = structure.damaged;
}

Model ModelReader::model() {
  Model model;
  model.structure = bytes_;
  WireMessage message({reinterpret_cast<const char*>(bytes_->data()), bytes_->size()}, "ModelProto", origin_);
  bool has_graph = false;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        model.ir_version = message.integer();
        break;
      case 2:
        model.producer = message.text(kMaxName);
        break;
      case 3:
        model.producer_version = message.text(kMaxName);
        break;
      case 7:
        if (std::exchange(has_graph, true)) message.fail("two graphs");
        read_graph(message.bytes(), model, left_, origin_);
        break;
      case 8:
        if (const int64_t version = read_opset(message.bytes(), origin_)) model.opset = version;
        break;
      case 14:
        if (model.metadata.size() == kMaxMetadata)
          message.fail(concat("more than ", kMaxMetadata, " entries of metadata"));
        model.metadata.insert(read_entry(message.bytes(), origin_));
        break;
      default:
        message.skip();
    }
  }
  if (damaged_) message.fail("a field does not fit its message; the file is cut or damaged");
  if (!has_graph) message.fail("it has no graph; the file is cut, or of another kind");
  if (model.opset == 0) message.fail("it states no version of the ONNX operator set");
  attach_values(model, left_out_, origin_, external_, left_.weights);
  return model;
}

Model ModelReader::branch(std::string_view graph) {
  Model branch;
  read_graph(graph, branch, left_, origin_);
  attach_values(branch, left_out_, origin_, external_, left_.weights);
  return branch;
}

}  // namespace lenslet::onnx
