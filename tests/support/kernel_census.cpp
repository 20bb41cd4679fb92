#include "tests/support/kernel_census.h"

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

namespace lenslet {
namespace {

/// Whether it has two tiles and, if tiles can be partly filled, a partly filled one.
bool shows(const Direction& direction) {
  return direction.count > direction.tile && (direction.tile == 1 || direction.count % direction.tile != 0);
}

std::vector<int> numbers_in(const std::string& name) {
  static const std::regex kNumber(R"((?:^|[<, ()])(-?\d+|true|false)(?=[>, )u]))");
  std::vector<int> numbers;
  const std::string arguments = name.substr(std::min(name.find('<'), name.size()));
  for (std::sregex_iterator i(arguments.begin(), arguments.end(), kNumber), end; i != end; ++i) {
    const std::string text = (*i)[1];
    numbers.push_back(text == "true" ? 1 : text == "false" ? 0 : std::stoi(text));
  }
  return numbers;
}

/// "conv_direct_any_kernel" of "lenslet::conv_direct_any_kernel<4, 1>".
std::string base_name(const std::string& name) {
  const std::string head = name.substr(0, name.find('<'));
  const size_t colon = head.rfind("::");
  return colon == std::string::npos ? head : head.substr(colon + 2);
}

Directions directions_of_blocks(const Seen& seen) {
  const dim3& grid = seen.launch.grid;
  return {{"blocks", int64_t{grid.x} * grid.y * grid.z, 1}};
}

}  // namespace

KernelCensus::KernelCensus(std::map<std::string, DirectionReader> readers, std::vector<Exempt> exempt)
    : exempt_(std::move(exempt)) {
  for (const simulated_gpu::Kernel& kernel : simulated_gpu::kernels()) {
    const std::string base = base_name(kernel.name);
    const auto found = readers.find(base);
    kernels_[kernel.address] = {kernel.name,
                                base,
                                numbers_in(kernel.name),
                                found == readers.end() ? directions_of_blocks : found->second,
                                {}};
  }
}

KernelCensus::~KernelCensus() { simulated_gpu::on_launch(nullptr); }

void KernelCensus::begin(const simulated_gpu::Gpu& gpu) {
  for (auto& row : kernels_) row.second.shown.clear();
  simulated_gpu::insert(gpu);
  simulated_gpu::on_launch([this](const simulated_gpu::Launch& launch) { record(launch); });
}

void KernelCensus::record(const simulated_gpu::Launch& launch) {
  Kernel& kernel = kernels_.at(launch.kernel);
  for (const Direction& direction : kernel.reader({launch, kernel.name, kernel.numbers}))
    kernel.shown[direction.of] |= shows(direction);
}

bool KernelCensus::launched(const std::string& part) const {
  return std::any_of(kernels_.begin(), kernels_.end(), [&](const auto& row) {
    return !row.second.shown.empty() && row.second.name.find(part) != std::string::npos;
  });
}

bool KernelCensus::exempt(const std::string& kernel, const std::string& direction) const {
  return std::any_of(exempt_.begin(), exempt_.end(), [&](const Exempt& row) {
    return std::regex_search(kernel, std::regex(row.kernel)) &&
           std::regex_match(direction, std::regex(row.direction));
  });
}

std::vector<std::string> KernelCensus::missing(const std::function<bool(const std::string&)>& counted) const {
  std::map<std::string, std::set<std::string>> directions;  // of any kernel of that name
  for (const auto& row : kernels_) {
    for (const auto& [direction, unused] : row.second.shown) directions[row.second.base].insert(direction);
  }
  std::vector<std::string> lines;
  for (const auto& [address, kernel] : kernels_) {
    if (!counted(kernel.base)) continue;
    if (kernel.shown.empty()) {
      if (!exempt(kernel.name, "")) lines.push_back(kernel.name + ": is never launched");
      continue;
    }
    for (const std::string& direction : directions[kernel.base]) {
      const auto found = kernel.shown.find(direction);
      if ((found == kernel.shown.end() || !found->second) && !exempt(kernel.name, direction))
        lines.push_back(kernel.name + ": " + direction);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

int KernelCensus::count(const std::function<bool(const std::string&)>& counted) const {
  return static_cast<int>(std::count_if(kernels_.begin(), kernels_.end(),
                                        [&](const auto& row) { return counted(row.second.base); }));
}

Directions directions_of_bias_rectifier(const Seen& seen) {
  constexpr int64_t kThreads = 256;
  const bool wide = seen.name.find("unsigned long") != std::string::npos;
  const auto size = [&](int index) {
    return wide ? static_cast<int64_t>(seen.argument<uint64_t>(index)) : seen.argument<uint32_t>(index);
  };
  const int64_t channels = size(3), inner = size(4), total = size(5);
  return {{"threads", total, kThreads},
          {"channels", channels, 1},
          {inner == 1 ? "outer" : "values of a channel",
           inner == 1 ? total * seen.number(0) / channels : inner, 1}};
}

}  // namespace lenslet
