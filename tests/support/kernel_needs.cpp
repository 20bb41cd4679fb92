#include "tests/support/kernel_needs.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>

namespace lenslet {
namespace {

/// From "requires" up to the next line of the head.
std::string requires_of(const std::string& head) {
  static const std::regex kLine(R"(// requires\s+)"), kMeasured(R"(// measured\s)"),
      kBreak(R"(\s*\n\s*//\s*)");
  std::smatch from, to;
  if (!std::regex_search(head, from, kLine)) return "";
  std::string text = from.suffix();
  if (std::regex_search(text, to, kMeasured)) text = to.prefix();
  return std::regex_replace(text, kBreak, " ");
}

KernelNeed need_of(const std::string& text) {
  static const std::regex kCapability(R"(compute capability (\d+)\.(\d))"), kOwn(R"(\bsm_(\d+)a\b)");
  std::smatch found;
  if (std::regex_search(text, found, kOwn)) return {std::stoi(found[1]), true};
  if (std::regex_search(text, found, kCapability))
    return {10 * std::stoi(found[1]) + std::stoi(found[2]), false};
  return {};
}

/// The head of a kernel is the comment before it; its name is the first word with parentheses after __global__ that
/// is not an attribute.
void read(const std::filesystem::path& path, std::map<std::string, KernelNeed>& needs) {
  static const std::regex kComment(R"(^ *//)"), kName(R"((\w+_kernel)\()");
  std::ifstream file(path);
  std::string head, need, line;
  for (bool within = false; std::getline(file, line);) {
    if (std::regex_search(line, kComment)) {
      head += line + "\n";
      continue;
    }
    if (!head.empty()) need = requires_of(head);
    head.clear();
    if (line.find("__global__") != std::string::npos) within = true;
    std::smatch name;
    if (!within || !std::regex_search(line, name, kName)) continue;
    within = false;
    if (const KernelNeed found = need_of(need); found.min_capability > 0) needs[name[1]] = found;
  }
}

std::map<std::string, KernelNeed> read_all() {
  std::map<std::string, KernelNeed> needs;
  for (const char* folder : {"framework", "layers", "models"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(LENSLET_SOURCE_DIR "/") + folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".cu" || extension == ".cuh") read(entry.path(), needs);
    }
  }
  if (needs.empty())
    throw std::logic_error("no head of a kernel names a compute capability: is the pattern right?");
  return needs;
}

}  // namespace

const std::map<std::string, KernelNeed>& kernel_needs() {
  static const std::map<std::string, KernelNeed> needs = read_all();
  return needs;
}

bool gpu_has_kernel(const std::string& name, int compute_capability) {
  const std::string head = name.substr(0, name.find('<'));
  const size_t colon = head.rfind("::");
  const auto found = kernel_needs().find(colon == std::string::npos ? head : head.substr(colon + 2));
  if (found == kernel_needs().end()) return true;
  const KernelNeed& need = found->second;
  return need.exactly ? compute_capability == need.min_capability : compute_capability >= need.min_capability;
}

}  // namespace lenslet
