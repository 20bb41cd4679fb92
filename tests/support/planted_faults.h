// Faults planted in a right operator, and the demand that what judges it sees each of them. For both kinds of device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/layer.h"

namespace lenslet {

/// One run of a right operator in the hands of a fault.
struct FaultyRun {
  Operator& right;
  const std::vector<ConstTensorView>& inputs;
  TensorView output;
  RunContext& context;
  int64_t number;  // of the operator's runs, from 0

  void run_rightly() const { right.run(inputs, output, context); }
};
using Fault = std::function<void(const FaultyRun&)>;

/// The operator with that fault in it; as it was where there is none.
std::unique_ptr<Operator> with_fault(std::unique_ptr<Operator> right, const Fault& fault);

/// Runs `judge` once as it is, which must find nothing, and once with each fault planted, which it must tell by the
/// fault's words: a wrong element, a NaN, a small error, an element never written, writes outside the output and into
/// the input, a result that another run does not repeat. `judge` runs operators that with_fault() made, on outputs in
/// reference::GuardedMemory as block 1 between its input and its workspace, and reports to GoogleTest.
/// `wrong_value`: what the judge says of a value that is not right; `small_error`: one that it must see, as a share of
/// the largest value.
void expect_faults_seen(const std::string& wrong_value, double small_error,
                        const std::function<void(const Fault&)>& judge);

}  // namespace lenslet
