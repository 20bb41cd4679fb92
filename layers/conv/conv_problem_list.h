// Problem lists: the batch files of benchdnn's convolution driver. docs/convbench.md lists the options that have an
// effect.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/conv/conv_problem.h"

namespace lenslet {

/// A problem as a list gives it.
struct ListedProblem {
  Conv2dProblem problem;    // no sizes if the text is no 2-D convolution
  std::string text;         // its canonical string; of an unsupported one the text of the list, in one line
  std::string unsupported;  // why it cannot be measured; empty if it can
  bool has_type = false;    // whether the list names the type of its tensors, `--dt`
};

/// One problem string. A 3-D convolution is unsupported. Throws UsageError for a malformed string.
ListedProblem listed_problem(std::string_view text);

/// Returns the content of a file that `--batch` names.
using ReadList = std::function<std::string(const std::string& path)>;

/// Reads a list: problem strings and options, divided by blanks; `#` starts a comment, `\` at the end continues a line.
/// At most 10,000 problems, and 64 files by `--batch`. Throws DataError with `origin` and every malformed line.
std::vector<ListedProblem> parse_problem_list(const std::string& text, const std::string& origin,
                                              const ReadList& read);

/// Reads the list of a file, with the files that it names by `--batch`, each beside the file that names it. Adds the
/// paths of all of them to `files`, unless it is null.
std::vector<ListedProblem> read_problem_list(const std::string& path,
                                             std::vector<std::string>* files = nullptr);

/// The problems of one list in a folder (layers/conv/problems): folder/list.txt. "launches" has one list for each
/// backend, folder/launches_<backend>.txt, which may be missing and is then empty. Throws DataError, also for an
/// unsupported problem.
std::vector<Conv2dProblem> listed_problems(const std::string& folder, const std::string& list,
                                           const std::string& backend = {});

}  // namespace lenslet
