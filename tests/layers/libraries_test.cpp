// Every module that this machine can open says which libraries it stands on.
#include <gtest/gtest.h>

#include <sstream>

#include "framework/error.h"
#include "framework/module.h"

namespace lenslet {
namespace {

TEST(ModuleLibraries, AreNamedWithVersionAndPath) {
  std::istringstream names(LENSLET_TEST_MODULES);
  int opened = 0;
  for (std::string name; names >> name;) {
    const Module* module = nullptr;
    try {
      module = &Module::open(name);
    } catch (const UnavailableError& error) {
      std::printf("%s\n", error.what());
      continue;
    }
    ++opened;
    const std::vector<ModuleLibrary> libraries = module->libraries();
    EXPECT_FALSE(libraries.empty()) << name;
    for (const ModuleLibrary& library : libraries) {
      EXPECT_STRNE(library.name, "") << name;
      EXPECT_NE(std::string(library.version).find('.'), std::string::npos) << name << " " << library.version;
      EXPECT_NE(std::string(library.path).find(".so"), std::string::npos) << name << " " << library.path;
    }
  }
  if (opened == 0) GTEST_SKIP() << "no module of this build can be opened here";
}

}  // namespace
}  // namespace lenslet
