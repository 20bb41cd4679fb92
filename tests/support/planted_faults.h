// Plants faults in a correct operator, and requires that its judge detects each of them. For both kinds of device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/layer.h"

namespace lenslet {

/// One run of a correct operator with a fault.
struct FaultyRun {
  Operator& right;
  const std::vector<ConstTensorView>& inputs;
  TensorView output;
  RunContext& context;
  int64_t number;  // of the operator's runs, from 0

  void run_correctly() const { right.run(inputs, output, context); }
};
using Fault = std::function<void(const FaultyRun&)>;

/// The operator with the current fault, or unchanged without one.
std::unique_ptr<Operator> with_fault(std::unique_ptr<Operator> right, const Fault& fault);

/// Runs `judge` once without a fault, when it must find nothing, and once with each planted fault, when its message
/// must contain the fault's words: a wrong element, a NaN, a small error, an element never written, writes outside the
/// output and into the input, a result that does not repeat. `judge` runs operators made by with_fault() on outputs in
/// reference::GuardedMemory as block 1, between input and workspace, and reports to GoogleTest. `wrong_value`: the
/// judge's words for a wrong value; `small_error`: an error that it must detect, as a share of the largest value.
void expect_faults_seen(const std::string& wrong_value, double small_error,
                        const std::function<void(const Fault&)>& judge);

}  // namespace lenslet
