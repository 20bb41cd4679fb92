#include "framework/graph/layer.h"

#include <cmath>

#include "framework/base/text.h"
#include "framework/graph/preferred_backend.h"

namespace lenslet {

std::vector<std::string> Layer::backends(DeviceKind kind) const {
  std::vector<std::string> names;
  for (const BackendEntry* entry : backend_entries(kind)) names.push_back(entry->name());
  return names;
}

const Shape& Layer::only_input(const std::vector<Shape>& inputs) const {
  if (inputs.size() != 1) throw DataError(concat(type(), " has one input, found ", inputs.size()));
  return inputs[0];
}

const BackendEntry* Layer::find_backend(const std::string& name, DeviceKind kind) const {
  for (const BackendEntry* entry : backend_entries(kind)) {
    if (entry->name() == name) return entry;
  }
  return nullptr;
}

const BackendEntry& Layer::backend_named(const std::string& name, DeviceKind kind) const {
  if (const BackendEntry* found = find_backend(name, kind)) return *found;
  throw UnavailableError(concat(type(), " has no backend '", name, "' for ", lenslet::to_string(kind),
                                "; there are: ", comma_list(backends(kind))));
}

Support Layer::do_supports(const BackendEntry& backend, const OperatorRequest& request) const {
  if (!request.fused.empty()) return Support::no(concat(type(), " fuses nothing"));
  return backend.available();
}

Support Layer::supports(const BackendEntry& backend, const OperatorRequest& request) const {
  if (!converts_ends() && request.math == MathMode::kInt8) return int8_refusal();
  const auto reads_and_writes = [this](ElementType type) {
    return type == ElementType::kFp32 || (type == ElementType::kFp16 && stores_fp16());
  };
  if (!converts_ends() && !(reads_and_writes(request.input_type) && reads_and_writes(request.output_type)))
    return refuse_ends(request.input_type, request.output_type, "; use the whole-network plan");
  try {
    return do_supports(backend, request);
  } catch (const Error& error) {
    return Support::no(error.what(), error.exit_code());
  }
}

const BackendEntry* Layer::preferred_entry(const OperatorRequest& request) const {
  return preferred_of(
      backend_entries(request.device.kind),
      [&](const BackendEntry& entry) { return static_cast<bool>(supports(entry, request)); },
      [&](const BackendEntry& entry) { return suits(entry, request); });
}

Work Layer::work_of(const OperatorRequest& request) const {
  Work total = work(request.inputs);
  const auto bytes = [](const Shape& shape, ElementType type) {
    return static_cast<double>(bytes_of(type, shape.num_elements()));
  };
  for (const Shape& input : request.inputs)
    total.bytes += bytes(input, request.input_type) - bytes(input, ElementType::kFp32);
  total.bytes -= total.unread * (request.input_type.bits() - ElementType::kFp32.bits()) / 8.0;
  Shape shape = infer_shape(request.inputs);
  total.bytes += bytes(request.output, request.output_type) - bytes(shape, ElementType::kFp32);
  for (const Layer* next : request.fused) {
    const Shape output = next->infer_shape({shape});
    if (output != shape) total.flops += next->work({shape}).flops;
    shape = output;
  }
  return total;
}

double Layer::do_output_bound(const BackendEntry& /*backend*/, const OperatorRequest& /*request*/) const {
  return INFINITY;
}

std::unique_ptr<Operator> Layer::prepare(const BackendEntry& backend, const OperatorRequest& request,
                                         Stream& stream) const {
  const Support support = supports(backend, request);
  if (!support && support.code() == ExitCode::kMemory) throw MemoryError(support.reason());
  if (!support) throw UnavailableError(support.reason());
  infer_shape(request.inputs);
  std::unique_ptr<Operator> op = make_operator(backend, request, stream);
  const Support fits =
      workspace_fits(concat("backend ", backend.name()), op->workspace_bytes(), request.workspace_limit);
  if (!fits) throw MemoryError(fits.reason());
  if (!request.choice.empty() && op->choice() != request.choice) {
    throw UnavailableError(concat("backend ", backend.name(), " cannot take the planned choice '",
                                  request.choice, "': it chooses nothing; remove it from the plan"));
  }
  return op;
}

Support Layer::supports(const std::string& backend, const OperatorRequest& request) const {
  try {
    return supports(backend_named(backend, request.device.kind), request);
  } catch (const UnavailableError& error) {
    return Support::no(error.what());
  }
}

Determinism Layer::determinism(const std::string& backend, const OperatorRequest& request) const {
  return do_determinism(backend_named(backend, request.device.kind), request);
}

double Layer::output_bound(const std::string& backend, const OperatorRequest& request) const {
  return do_output_bound(backend_named(backend, request.device.kind), request);
}

std::string Layer::preferred(const OperatorRequest& request) const {
  const BackendEntry* entry = preferred_entry(request);
  return entry ? entry->name() : std::string();
}

std::unique_ptr<Operator> Layer::prepare(const std::string& backend, const OperatorRequest& request,
                                         Stream& stream) const {
  return prepare(backend_named(backend, request.device.kind), request, stream);
}

Support refuse_ends(ElementType input, ElementType output, const char* remedy) {
  return Support::no(
      concat("reads and writes fp32, not ", to_string(input), " in and ", to_string(output), " out", remedy));
}

OperatorRequest request_for(const Layer& layer, std::vector<Shape> inputs, Device device, MathMode math,
                            ElementType input, ElementType output) {
  OperatorRequest request;
  request.device = device;
  request.output = layer.infer_shape(inputs);
  if (output.one_for_each_sample()) request.output = {request.output[0]};
  request.inputs = std::move(inputs);
  request.math = layer.uses_math() ? math : MathMode::kFp32;
  request.input_type = input;
  request.output_type = output;
  return request;
}

Support fuse(const Layer& layer, const BackendEntry& backend, const Layer& next, OperatorRequest& request) {
  request.fused.push_back(&next);
  if (const Support support = layer.supports(backend, request); !support) {
    request.fused.pop_back();
    return support;
  }
  request.output = next.infer_shape({request.output});
  return Support::yes();
}

}  // namespace lenslet
