#include "models/fused_lenet5/unpacking.h"

#include <utility>

#include "framework/base/integer_math.h"
#include "framework/device/runtime.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/pixels.h"

namespace lenslet {

UnpackingOperator::UnpackingOperator(std::unique_ptr<Operator> network, const OperatorRequest& request)
    : network_(std::move(network)),
      bytes_(align_up(static_cast<size_t>(request.inputs[0].num_elements()), Buffer::kAlignment)),
      pixels_{{nullptr, request.inputs[0], request.device, ElementType::kUint8}} {}

std::string UnpackingOperator::detail() const {
  const std::string network = network_->detail();
  return concat(network, network.empty() ? "" : ", ", "4-bit pixels unpacked before it");
}

void UnpackingOperator::run(const std::vector<ConstTensorView>& inputs, TensorView output,
                            RunContext& context) {
  auto* const pixels = static_cast<char*>(context.workspace);
  const int64_t count = inputs[0].shape.num_elements();
  if (context.stream.device().is_cuda()) {
    runtime::unpack_pixels_async(inputs[0].data, count / 2, pixels, context.stream.native_handle());
  } else {
    convert_pixels(ElementType::kUint4, inputs[0].data, count, Normalisation(), ElementType::kUint8, pixels);
  }
  pixels_[0].data = reinterpret_cast<const float*>(pixels);
  RunContext of_network{context.stream, pixels + bytes_, context.tracer, context.pair_values};
  network_->run(pixels_, output, of_network);
}

}  // namespace lenslet
