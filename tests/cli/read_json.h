// A result file, read strictly.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {

/// Throws for NaN, for what follows the document, for bytes that are not UTF-8. {dir} is expanded.
inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(expand(path));
  return nlohmann::json::parse(file);
}

}  // namespace lenslet::test
