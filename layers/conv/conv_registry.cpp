#include "layers/conv/conv_registry.h"

#include "framework/error.h"
#include "framework/module.h"
#include "framework/other_device.h"

namespace lenslet {

// Every built-in backend file defines one of these getters; a module exports `lenslet_conv_backend` instead.
namespace conv_backends {
#define LENSLET_CONV_BUILT_IN(where, name) const ConvBackend& where##_##name();
#define LENSLET_CONV_MODULE(where, name)
#define LENSLET_CONV_NOT_BUILT(where, name, why)
#include "layers/conv/conv_backend_table.inc"
#undef LENSLET_CONV_BUILT_IN
#undef LENSLET_CONV_MODULE
}  // namespace conv_backends

namespace {

constexpr DeviceKind cpu = DeviceKind::kCpu;
[[maybe_unused]] constexpr DeviceKind gpu = DeviceKind::kCuda;

[[maybe_unused]] const ConvBackend& open_module(const std::string& name) {
  const Module& module = Module::open(name);
  auto getter = reinterpret_cast<const ConvBackend* (*)()>(module.symbol("lenslet_conv_backend"));
  return *getter();
}

const std::vector<ConvBackendEntry>& all_entries() {
  using Kind = ConvBackendEntry::Kind;
#define LENSLET_CONV_BUILT_IN(where, name) {where, #name, Kind::kBuiltIn, &conv_backends::where##_##name, ""},
#define LENSLET_CONV_MODULE(where, name) \
  {where, #name, Kind::kModule,          \
   []() -> const ConvBackend& { return open_module("conv_" #where "_" #name); }, ""},
#undef LENSLET_CONV_NOT_BUILT
#define LENSLET_CONV_NOT_BUILT(where, name, why) {where, #name, Kind::kNotBuilt, nullptr, why},
  static const std::vector<ConvBackendEntry> entries = {
#include "layers/conv/conv_backend_table.inc"
  };
  return entries;
}

std::vector<ConvBackendEntry> entries_for(DeviceKind device) {
  std::vector<ConvBackendEntry> rows;
  for (const ConvBackendEntry& entry : all_entries()) {
    if (entry.device() == device) rows.push_back(entry);
  }
  return rows;
}

}  // namespace

const ConvBackend& ConvBackendEntry::open() const {
  if (kind_ == Kind::kNotBuilt)
    throw UnavailableError(concat("backend ", name_, " is not in this build: ", why_not_));
  return getter_();
}

Support ConvBackendEntry::supports(const Conv2dProblem& problem, MathMode math) const {
  try {
    return open().supports(problem, math);
  } catch (const Error& error) {
    return Support::no(error.what());
  }
}

const std::vector<ConvBackendEntry>& conv_backend_rows(DeviceKind device) {
  static const std::vector<ConvBackendEntry> cpu_rows = entries_for(DeviceKind::kCpu);
  static const std::vector<ConvBackendEntry> cuda_rows = entries_for(DeviceKind::kCuda);
  return device == DeviceKind::kCpu ? cpu_rows : cuda_rows;
}

const ConvBackendEntry& find_conv_backend(DeviceKind device, const std::string& name) {
  std::string legal;
  for (const ConvBackendEntry& entry : conv_backend_rows(device)) {
    if (entry.name() == name) return entry;
    legal += (legal.empty() ? "" : ", ") + entry.name();
  }
  for (const ConvBackendEntry& entry : conv_backend_rows(other_kind(device))) {
    if (entry.name() == name)
      throw only_on_other_device(concat("convolution backend '", name, "'"), device, legal);
  }
  throw UsageError(
      concat("no convolution backend '", name, "' for ", to_string(device), "; there are: ", legal));
}

}  // namespace lenslet
