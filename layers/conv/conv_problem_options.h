// The options of benchdnn that a problem list may contain: which are obeyed, which do not matter, and which make the
// problems after them unsupported. Internal: for the reader of lists and the writer of commands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/tensor/element_type.h"

namespace lenslet {

/// As benchdnn names fp32, fp16 and bf16: "f32", "f16", "bf16".
std::string benchdnn_name(ElementType type);

class ProblemOptions {
 public:
  /// Takes one option, `--key=value` or `--key`. Returns the file of `--batch`, else an empty text. Throws UsageError
  /// for a malformed value of an option that is obeyed.
  std::string take(std::string_view option);
  /// The batches of each problem; 0: that of the problem.
  const std::vector<int>& batches() const { return batches_; }
  /// The types of each problem's tensors; none: that of the problem.
  const std::vector<ElementType>& types() const { return types_; }
  /// The options that request what Lenslet does not measure, with blanks between them; empty if there is none. Names
  /// the first eight and counts the others, because every problem after them repeats it.
  std::string refused() const;

 private:
  std::vector<int> batches_ = {0};
  std::vector<ElementType> types_;
  std::map<std::string, std::string, std::less<>> refused_;  // key -> option
};

}  // namespace lenslet
