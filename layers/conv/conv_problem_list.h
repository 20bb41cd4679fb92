// Parser of a problem list; read_problem_list() of layers/conv/conv_problem.h reads a file.
#pragma once

#include <string>
#include <vector>

#include "layers/conv/conv_problem.h"

namespace lenslet {

/// One problem string per line, `#` starts a comment; at most 10,000 problems. Throws DataError with `origin` and line.
std::vector<Conv2dProblem> parse_problem_list(const std::string& text, const std::string& origin);

}  // namespace lenslet
