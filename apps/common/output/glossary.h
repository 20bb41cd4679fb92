// The glossary: what the words in tables, result files and the report mean. Its text is apps/report/glossary.txt, which
// the report reads too. A backend needs no entry there: its row explains it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lenslet {

struct GlossaryEntry {
  std::vector<std::string> words;  // the first is the usual one
  std::string kind;                // "backend", "column", "status", "ceiling", "term", "key"
  std::string see;                 // where to read on, such as "docs/measuring.md, Ceilings"
  std::vector<std::string> lines;  // the first is a sentence of its own
};

/// The entries of the text, and of every row of a backend.
const std::vector<GlossaryEntry>& glossary();
/// `entries`, and one for each backend of `rows` that has none. `rows` has lines "conv cpu direct
/// layers/conv/cpu/direct.cpp": kind of layer, device, name and file.
std::vector<GlossaryEntry> with_backends(std::vector<GlossaryEntry> entries, const std::string& rows);
/// The entry of a word in any case; null if there is none. A ceiling may have a math mode in front, a column the name
/// of a backend, and a word a number after it: "fp32 AVX2", "cudnn faster", "a pass of 64". A plan has the entry of
/// its whole-network backend, or of layered: "fused simd", "layered, tuned".
const GlossaryEntry* find_in_glossary(const std::string& word);
/// The word, what it is, its lines, and where to read on. Throws UsageError with the nearest word for an unknown one.
std::string explain(const std::string& word);
/// Every word by kind.
std::string glossary_index();
/// The words that have an entry, with the entry's first line; words of one entry together: "p10, p90".
std::vector<std::pair<std::string, std::string>> legend_of(const std::vector<std::string>& words);

}  // namespace lenslet
