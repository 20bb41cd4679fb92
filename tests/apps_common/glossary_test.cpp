// The glossary: what has no entry of its own is explained by a row.
#include "apps/common/output/glossary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lenslet {
namespace {

// A new backend is one file and one row. The row explains it until the glossary has an entry.
TEST(Glossary, ExplainsABackendWithoutAnEntryByItsRows) {
  const std::vector<GlossaryEntry> entries =
      with_backends({{{"winograd"}, "backend", "docs/kernels/winograd.md", {"Transforms tiles."}},
                     {{"fancy"}, "term", "docs/cli.md", {"Not the backend of that name."}}},
                    "conv gpu winograd layers/conv/gpu/winograd.cu\n"
                    "conv gpu fancy layers/conv/gpu/fancy.cu\n"
                    "linear cpu fancy layers/linear/cpu/fancy.cpp\n");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].lines, std::vector<std::string>{"Transforms tiles."});
  EXPECT_EQ(entries[2].words, std::vector<std::string>{"fancy"});
  EXPECT_EQ(entries[2].kind, "backend");
  EXPECT_EQ(entries[2].see, "docs/add_a_backend.md");
  EXPECT_EQ(entries[2].lines,
            (std::vector<std::string>{"A backend of conv on the GPU: layers/conv/gpu/fancy.cu",
                                      "A backend of linear on the CPU: layers/linear/cpu/fancy.cpp"}));
}

TEST(Glossary, ExplainsPlansAndRefusalsOfPictures) {
  ASSERT_NE(find_in_glossary("simd"), nullptr);
  EXPECT_EQ(find_in_glossary("fused simd"), find_in_glossary("simd"));
  EXPECT_EQ(find_in_glossary("layered, tuned"), find_in_glossary("layered"));
  EXPECT_EQ(find_in_glossary("fused winogard"), nullptr);
  for (const char* word :
       {"blank", "no digit", "too_small", "touching", "texture", "rows", "no_number", "not_finite"}) {
    ASSERT_NE(find_in_glossary(word), nullptr) << word;
    EXPECT_EQ(find_in_glossary(word)->kind, "term") << word;
  }
}

// `explain` lists the words, and a reader gives one of them back, with or without what follows a comma in it.
TEST(Glossary, ExplainsAWordUpToAComma) {
  EXPECT_EQ(find_in_glossary("interval"), find_in_glossary("interval, >= 95 %"));
  ASSERT_NE(find_in_glossary("interval"), nullptr);
  EXPECT_EQ(find_in_glossary("Layers")->kind, "column") << "a word of its own comes first";
  EXPECT_EQ(find_in_glossary("inter"), nullptr);
  const std::string index = glossary_index();
  for (const char* quoted : {"'interval, >= 95 %'", "'layers, sum'"})
    EXPECT_NE(index.find(quoted), std::string::npos) << index;
}

}  // namespace
}  // namespace lenslet
