// Parser of a problem list; read_problem_list() of layers/conv/conv_problem.h reads a file.
#pragma once

#include <string>
#include <vector>

#include "layers/conv/conv_problem.h"

namespace lenslet {

/// One problem string per line, `#` starts a comment; at most 10,000 problems. Throws DataError with `origin` and line.
std::vector<Conv2dProblem> parse_problem_list(const std::string& text, const std::string& origin);

/// The problems of one list in a folder (layers/conv/problems): folder/list.txt. "launches" has one list for each
/// backend, folder/launches_<backend>.txt, which may be missing and is then empty. Throws DataError.
std::vector<Conv2dProblem> listed_problems(const std::string& folder, const std::string& list,
                                           const std::string& backend = {});

}  // namespace lenslet
