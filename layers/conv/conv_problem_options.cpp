#include "layers/conv/conv_problem_options.h"

#include <algorithm>
#include <climits>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

// They change how benchdnn measures, or the layout and algorithm that it requests of oneDNN, not what is computed.
constexpr std::string_view kWithoutEffect[] = {"--alg",
                                               "--allow-enum-tags-only",
                                               "--attr-same-pd-check",
                                               "--attr-scratchpad",
                                               "--canonical",
                                               "--check-ref-impl",
                                               "--cold-cache",
                                               "--conv",
                                               "--cpu-isa-hints",
                                               "--ctx-exe",
                                               "--ctx-init",
                                               "--dtag",
                                               "--engine",
                                               "--execution-mode",
                                               "--fast-ref",
                                               "--fast-ref-gpu",
                                               "--fix-times-per-prb",
                                               "--global-impl",
                                               "--impl",
                                               "--inplace",
                                               "--match",
                                               "--max-ms-per-prb",
                                               "--mem-check",
                                               "--memory-kind",
                                               "--mode",
                                               "--mode-modifier",
                                               "--num-streams",
                                               "--perf-template",
                                               "--repeats-per-prb",
                                               "--skip-impl",
                                               "--stag",
                                               "--start",
                                               "--stop",
                                               "--summary",
                                               "--verbose",
                                               "--wtag"};

/// One of the values of an option is measured; the others of a list like `f32,bf16` are not.
struct Measured {
  std::string_view key;
  std::vector<std::string_view> values;  // in lower case
};
const std::vector<Measured>& measured_values() {
  static const std::vector<Measured> all = {{"--dir", {"fwd_b", "fwd_d", "fwd_i"}},
                                            {"--cfg", {"f32"}},
                                            {"--bia-dt", {"undef", "f32"}},
                                            // The defaults, which lists state beside other values.
                                            {"--attr-acc-mode", {"strict"}},
                                            {"--attr-deterministic", {"false"}},
                                            {"--attr-fpmath", {"strict"}}};
  return all;
}

bool measures(std::string_view key, std::string_view value) {
  const std::vector<Measured>& all = measured_values();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const Measured& one) { return one.key == key; });
  const std::vector<std::string> parts = split(value, ",");
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    // An empty value is the default: no post-operation, no scale, no filter.
    if (part.empty()) return true;
    return known != all.end() &&
           std::find(known->values.begin(), known->values.end(), lower_case(part)) != known->values.end();
  });
}

/// The types that `--dt=f32,f16:f16:f16` requests, of those that Lenslet has: one for source, weights and destination.
std::vector<ElementType> types_of(std::string_view value) {
  std::vector<ElementType> types;
  for (const std::string& part : split(value, ",")) {
    for (const ElementType type : kFloatTypes) {
      const std::string name = benchdnn_name(type), word = lower_case(part);
      if (word == name || word == concat(name, ":", name, ":", name)) types.push_back(type);
    }
  }
  return types;
}

std::vector<int> batches_of(std::string_view option, std::string_view value) {
  std::vector<int> batches;
  for (const std::string& part : split(value, ",")) {
    const std::optional<int> batch = parse_number(part, 0);
    if (!batch)
      throw UsageError(concat("--mb must be a list of integers from 0 to ", INT_MAX, ", found '",
                              printable_excerpt(option), "'"));
    batches.push_back(*batch);
  }
  return batches;
}

}  // namespace

std::string benchdnn_name(ElementType type) {
  return type == ElementType::kFp32 ? "f32" : type == ElementType::kFp16 ? "f16" : type.name();
}

std::string ProblemOptions::take(std::string_view option) {
  const size_t equals = option.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = has_value ? option.substr(equals + 1) : std::string_view();
  if (key == "--reset") {
    *this = ProblemOptions();
  } else if (key == "--mb") {
    batches_ = batches_of(option, value);
  } else if (key == "--dt" && (value.empty() || !types_of(value).empty())) {
    types_ = types_of(value);
    refused_.erase(std::string(key));
  } else if (key == "--batch") {
    if (value.empty()) throw UsageError("--batch needs a file: --batch=FILE");
    return std::string(value);
  } else if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), key) ==
                 std::end(kWithoutEffect) &&
             option.substr(0, 2) != "-v") {
    if (key == "--dt") types_.clear();
    const auto earlier = refused_.find(key);
    if (earlier != refused_.end()) refused_.erase(earlier);
    if (!has_value || !measures(key, value)) refused_.emplace(key, printable_excerpt(option, 80));
  }
  return {};
}

std::string ProblemOptions::refused() const {
  constexpr size_t kNamed = 8;  // what a message of one line has room for
  std::vector<std::string> options;
  for (const auto& [key, option] : refused_) {
    if (options.size() == kNamed) {
      options.push_back(concat("and ", refused_.size() - kNamed, " others"));
      break;
    }
    options.push_back(option);
  }
  return joined(options, " ");
}

}  // namespace lenslet
