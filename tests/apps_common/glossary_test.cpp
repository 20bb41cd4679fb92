// The glossary: what has no entry of its own is explained by a row.
#include "apps/common/output/glossary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "apps/common/results/result_file.h"

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

// The keys of a JSON value, without those of maps, whose keys are free.
void add_keys(const nlohmann::ordered_json& value, std::set<std::string>& keys) {
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) keys.insert(key);
    if (key != "labels" && key != "stages_ns" && member.is_structured()) add_keys(member, keys);
  }
}

// `explain` takes any key of a row in JSON and any column of it in CSV: the words come from the row's own field list.
TEST(Glossary, ExplainsEveryKeyAndColumnOfARow) {
  ResultRow row;
  row.time.samples = row.end_to_end.samples = 1;
  row.error.emplace();
  row.accuracy.emplace();
  row.published.emplace();
  row.launches.emplace_back();
  nlohmann::ordered_json json;
  JsonObject::put(json, row);
  std::set<std::string> keys;
  add_keys(json, keys);
  const std::vector<std::string> columns = csv_row(row).columns;
  keys.insert(columns.begin(), columns.end());
  EXPECT_GE(keys.size(), 65u);
  for (const char* key : {"median", "median_ns", "end_to_end_p90_ns", "checked", "occupancy", "counted"})
    EXPECT_EQ(keys.count(key), 1u) << key;
  for (const std::string& key : keys) EXPECT_NE(find_in_glossary(key), nullptr) << key;
}

TEST(Glossary, ExplainsTheWordsOfCells) {
  for (const char* word :
       {"int8", "uint8", "uint4", "bf16", "any", "logits", "prediction", "F(4x4,3x3)", "F(2x2,5x5)", "<-",
        "call", "copy", "graph", "mapped", "polled", "resident", "few", "no_digit"})
    EXPECT_NE(find_in_glossary(word), nullptr) << word;
}

// Every kind of entry is in the index.
TEST(Glossary, IndexHasEveryWord) {
  const std::string index = "\n" + glossary_index();
  for (const GlossaryEntry& entry : glossary())
    EXPECT_NE(index.find("\n" + entry.kind + ": "), std::string::npos)
        << entry.words.at(0) << ": " << entry.kind;
}

}  // namespace
}  // namespace lenslet
