#include "framework/device/near_processors.h"

#include <charconv>
#include <system_error>

#include "framework/base/choice_trace.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/runtime.h"

namespace lenslet {
namespace {

constexpr int kMaxProcessors = 65536;  // above any machine's; bounds the list that one range can make

bool take_number(std::string_view& text, int& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number >= kMaxProcessors) return false;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return true;
}

bool take_character(std::string_view& text, char character) {
  if (text.empty() || text.front() != character) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::vector<int>> parse_processor_list(std::string_view text) {
  std::vector<int> processors;
  do {
    int first = 0;
    if (!take_number(text, first)) return std::nullopt;
    int last = first;
    if (take_character(text, '-') && (!take_number(text, last) || last < first)) return std::nullopt;
    for (int processor = first; processor <= last; ++processor) processors.push_back(processor);
  } while (take_character(text, ','));
  if (!text.empty()) return std::nullopt;
  return processors;
}

std::vector<int> processors_near(const std::string& address, const std::string& sys) {
  std::string name = address;  // the runtime writes capitals, the kernel does not
  for (char& c : name) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string node = first_line(concat(sys, "/bus/pci/devices/", name, "/numa_node"));
  std::string_view rest = node;
  int number = 0;
  if (!take_number(rest, number) || !rest.empty()) return {};  // -1: the node is unknown
  return parse_processor_list(first_line(concat(sys, "/devices/system/node/node", number, "/cpulist")))
      .value_or(std::vector<int>());
}

std::vector<int> processors_near(Device device) {
  if (!device.is_cuda()) return {};
  const std::string address = runtime::pci_address(device.ordinal);
  std::vector<int> processors = processors_near(address);
  if (processors.empty()) {
    trace_choice("threads", device.to_string(), " at ", address,
                 ": on any processor, as its NUMA node is unknown");
  } else {
    trace_choice("threads", device.to_string(), " at ", address, ": on the ", processors.size(),
                 " processors of its NUMA node, from ", processors.front(), " on");
  }
  return processors;
}

}  // namespace lenslet
