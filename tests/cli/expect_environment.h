// What every JSON document of the programs states about the run.
#pragma once

#include "tests/cli/fixtures/files.h"

namespace lenslet::test {

inline void expect_environment(const nlohmann::json& document) {
  for (const char* key : {"version", "git", "dirty", "argv", "time_utc"}) {
    EXPECT_TRUE(document.at("meta").contains(key)) << key;
  }
  EXPECT_TRUE(document.at("host").contains("cpu"));
  EXPECT_TRUE(document.at("devices").is_array());
  for (const nlohmann::json& library : document.at("libs")) {
    EXPECT_TRUE(library.contains("name") && library.contains("version") && library.contains("path"));
  }
}

}  // namespace lenslet::test
