// The options of benchdnn that a problem list may contain: which are obeyed, which do not matter, and which make the
// problems after them unsupported. Internal: only for the reader of lists.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

class ProblemOptions {
 public:
  /// Takes one option, `--key=value` or `--key`. Returns the file of `--batch`, else an empty text. Throws UsageError
  /// for a malformed value of an option that is obeyed.
  std::string take(std::string_view option);
  /// The batches of each problem; 0: that of the problem.
  const std::vector<int>& batches() const { return batches_; }
  /// The options that request what Lenslet does not measure, with blanks between them; empty if there is none. Names
  /// the first eight and counts the others, because every problem after them repeats it.
  std::string refused() const;

 private:
  std::vector<int> batches_ = {0};
  std::map<std::string, std::string, std::less<>> refused_;  // key -> option
};

}  // namespace lenslet
