// The operator of a layer with one input whose backend is a function: nothing to prepare, no workspace. Internal.
#pragma once

#include <memory>
#include <vector>

#include "framework/graph/backend_table.h"
#include "framework/graph/layer.h"

namespace lenslet {

/// Opens the backend; run() calls its run(problem, x, y, stream).
template <class Backend, class Problem>
class FunctionOperator : public Operator {
 public:
  FunctionOperator(const BackendEntry& backend, const Problem& problem)
      : backend_(static_cast<const BackendEntryOf<Backend>&>(backend).open()), problem_(problem) {}
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    backend_.run(problem_, inputs[0].data, output.data, context.stream);
  }

 private:
  const Backend& backend_;
  const Problem problem_;
};

template <class Backend, class Problem>
std::unique_ptr<Operator> function_operator(const BackendEntry& backend, const Problem& problem) {
  return std::make_unique<FunctionOperator<Backend, Problem>>(backend, problem);
}

}  // namespace lenslet
