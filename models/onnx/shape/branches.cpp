#include "models/onnx/shape/branches.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/onnx/read/check_graph.h"
#include "models/onnx/read/unique_names.h"
#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {
namespace {

/// Visits the nodes in order, infers the values that conditions need, and puts a branch in the place of its If.
class Inliner {
 public:
  Inliner(Model& model, const std::string& origin, size_t max_nodes, const ReadBranch& read)
      : model_(model), origin_(origin), max_nodes_(max_nodes), read_(read) {
    values_ = initial_values(model, origin, 1);
    const bool free =
        !model.inputs.empty() && !model.inputs[0].dims.empty() && model.inputs[0].dims[0].size < 1;
    if (free) of_two_ = initial_values(model, origin, 2);
    for (const auto& [name, value] : values_) names_.hold(name);
    for (const Node& node : model.nodes)
      for (const std::string& output : node.outputs) names_.hold(output);
  }

  /// Whether a branch was taken.
  bool run() {
    bool taken = false;
    left_.assign(std::make_move_iterator(model_.nodes.rbegin()),
                 std::make_move_iterator(model_.nodes.rend()));
    model_.nodes.clear();
    while (!left_.empty()) {
      Node node = std::move(left_.back());
      left_.pop_back();
      check_produced(node);
      const std::optional<bool> condition = node.op == "If" ? condition_of(node) : std::nullopt;
      if (condition) {
        const char* const side = *condition ? "then_branch" : "else_branch";
        const Attribute* const branch = node.find(side);
        if (!branch || branch->graph.empty())
          throw DataError(concat(origin_, ": node ", in_quotes(node.name), " (If) lacks its ", side));
        take(node, branch->graph);
        taken = true;
      } else {
        infer(node);
        model_.nodes.push_back(std::move(node));
      }
    }
    return taken;
  }

 private:
  // A branch is read after the graph around it was checked.
  void check_produced(const Node& node) const {
    for (const std::string& input : node.inputs)
      if (!input.empty() && values_.count(input) == 0)
        throw DataError(concat(origin_, ": node ", in_quotes(node.name), " reads ", in_quotes(input),
                               ", which nothing before it in its branch or around it produces"));
  }

  void infer(const Node& node) {
    infer_node(node, model_.opset, origin_, values_);
    if (!of_two_) return;
    try {
      infer_node(node, model_.opset, origin_, *of_two_);
    } catch (const DataError&) {
      // The node cannot run at a batch of 2, so no later condition is known to hold for every batch.
      depends_on_batch_ = true;
      of_two_.reset();
    }
  }

  // The value of the condition, if it is the same in every batch.
  std::optional<bool> condition_of(const Node& node) const {
    if (node.inputs.size() != 1 || depends_on_batch_) return std::nullopt;
    const auto truth = [&](const Values& values) -> std::optional<bool> {
      const auto found = values.find(node.inputs[0]);
      if (found == values.end() || !found->second.integers || found->second.integers->size() != 1)
        return std::nullopt;
      return found->second.integers->front() != 0;
    };
    const std::optional<bool> of_one = truth(values_);
    return of_two_ && truth(*of_two_) != of_one ? std::nullopt : of_one;
  }

  void take(const Node& choice, std::string_view graph) {
    Model branch = read_(graph);
    const auto fail = [&](const std::string& what) {
      throw DataError(concat(origin_, ": node ", in_quotes(choice.name), " (If): its branch ", what));
    };
    if (!branch.inputs.empty()) fail("has inputs");
    if (branch.outputs.size() != choice.outputs.size())
      fail(concat("has ", branch.outputs.size(), " outputs, expected ", choice.outputs.size()));
    std::unordered_map<std::string, std::string> renamed;
    for (auto& [name, tensor] : branch.initializers) {
      tensor.name = names_.take(name);
      renamed[name] = tensor.name;
      Model constant;
      constant.initializers.emplace(tensor.name, tensor);
      for (Values* const values : {&values_, of_two_ ? &*of_two_ : nullptr})
        if (values) values->merge(initial_values(constant, origin_, 1));
      model_.initializers.emplace(tensor.name, std::move(tensor));
    }
    std::unordered_set<std::string> made;
    for (const Node& node : branch.nodes)
      for (const std::string& output : node.outputs)
        if (!output.empty() && (!made.insert(output).second || renamed.count(output) != 0))
          fail(concat("produces ", in_quotes(output), " twice"));
    std::vector<Node> copies;  // outputs that no node of the branch makes, or that are named twice
    for (size_t i = 0; i < choice.outputs.size(); ++i) {
      const std::string& from = branch.outputs[i].name;
      if (choice.outputs[i].empty()) continue;
      if (made.count(from) != 0 && renamed.emplace(from, choice.outputs[i]).second) continue;
      Node& copy = copies.emplace_back();
      copy.origin = choice.origin;
      copy.name = concat(choice.name, "_", i);
      copy.op = "Identity";
      copy.inputs = {from};
      copy.outputs = {choice.outputs[i]};
    }
    for (const std::string& output : made)
      if (renamed.count(output) == 0) renamed[output] = names_.take(output);
    branch.nodes.insert(branch.nodes.end(), std::make_move_iterator(copies.begin()),
                        std::make_move_iterator(copies.end()));
    if (model_.nodes.size() + left_.size() + branch.nodes.size() > max_nodes_)
      fail(concat("brings the graph above ", max_nodes_, " nodes"));
    for (Node& node : branch.nodes)
      for (std::vector<std::string>* const names : {&node.inputs, &node.outputs})
        for (std::string& name : *names)
          if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
    left_.insert(left_.end(), std::make_move_iterator(branch.nodes.rbegin()),
                 std::make_move_iterator(branch.nodes.rend()));
  }

  Model& model_;
  const std::string& origin_;
  const size_t max_nodes_;
  const ReadBranch& read_;
  Values values_;
  std::optional<Values> of_two_;  // the values at a batch of 2, if the batch is free
  bool depends_on_batch_ = false;
  UniqueNames names_;
  std::vector<Node> left_;  // nodes not visited yet, the next one last
};

}  // namespace

bool inline_branches(Model& model, const std::string& origin, size_t max_nodes, const ReadBranch& read) {
  const bool any =
      std::any_of(model.nodes.begin(), model.nodes.end(), [](const Node& node) { return node.op == "If"; });
  return any && Inliner(model, origin, max_nodes, read).run();
}

}  // namespace lenslet::onnx
