// Every module that this machine can open reports its libraries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "framework/base/error.h"
#include "framework/graph/module.h"

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

struct ClosePipe {
  void operator()(FILE* pipe) const { ::pclose(pipe); }
};

// With an empty or relative entry the current folder could choose the library.
TEST(ModuleLibraries, AreLookedForInAbsoluteFoldersAlone) {
  std::istringstream names(LENSLET_TEST_MODULES);
  for (std::string name; names >> name;) {
    const std::string file = LENSLET_TEST_MODULE_DIR "/lenslet_" + name + ".so";
    const std::unique_ptr<FILE, ClosePipe> output(
        ::popen(("readelf --wide --dynamic '" + file + "'").c_str(), "r"));
    ASSERT_TRUE(output);
    std::string text;
    char line[4096];
    while (std::fgets(line, sizeof line, output.get())) text += line;
    ASSERT_NE(text.find("(NEEDED)"), std::string::npos) << file << ": " << text;
    const size_t path = std::min(text.find("(RUNPATH)"), text.find("(RPATH)"));
    if (path == std::string::npos) continue;  // found where the system looks
    const size_t begin = text.find('[', path) + 1, end = text.find(']', begin);
    const std::string folders = text.substr(begin, end - begin) + ":";
    for (size_t at = 0, next; (next = folders.find(':', at)) != std::string::npos; at = next + 1)
      EXPECT_EQ(folders[at], '/') << file << ": runpath '" << text.substr(begin, end - begin) << "'";
  }
}

}  // namespace
}  // namespace lenslet
