#include "apps/common/output/glossary.h"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/text.h"
#include "framework/graph/backend_spec.h"

namespace lenslet {
namespace embedded {
extern const unsigned char glossary[];
extern const size_t glossary_size;
extern const unsigned char backend_rows[];
extern const size_t backend_rows_size;
}  // namespace embedded

namespace {

// "word; other word | kind | where to read on", then the indented lines of the text. '#' begins a comment.
std::vector<GlossaryEntry> parse() {
  std::vector<GlossaryEntry> entries;
  std::istringstream text(std::string(embedded::glossary, embedded::glossary + embedded::glossary_size));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {
      entries.back().lines.push_back(line.substr(line.find_first_not_of(' ')));
      continue;
    }
    const std::vector<std::string> fields = split(line, " | ");
    entries.push_back({split(fields.at(0), "; "), fields.at(1), fields.at(2), {}});
  }
  return entries;
}

// The first entry of that word in small letters; with a kind, of that kind.
const GlossaryEntry* entry_of(const std::string& word, const std::string& kind = {}) {
  for (const GlossaryEntry& entry : glossary()) {
    if (!kind.empty() && entry.kind != kind) continue;
    for (const std::string& known : entry.words) {
      if (lower_case(known) == word) return &entry;
    }
  }
  return nullptr;
}

// The entry of a word that goes on after a comma: "interval" of "interval, >= 95 %".
const GlossaryEntry* entry_before_comma(const std::string& word) {
  for (const GlossaryEntry& entry : glossary()) {
    for (const std::string& known : entry.words) {
      if (lower_case(known).rfind(word + ", ", 0) == 0) return &entry;
    }
  }
  return nullptr;
}

/// What the user may have meant: the words that contain the text, else the nearest word.
std::string near_words(const std::string& text, const std::vector<std::string>& known) {
  // A shorter text is in many words, and every short word is near to it.
  constexpr size_t kMinContained = 3, kMinNear = 5, kMaxWords = 8;
  std::vector<std::string> containing;
  for (const std::string& word : known) {
    if (text.size() >= kMinContained && word.find(text) != std::string::npos) add_new(containing, {word});
  }
  if (!containing.empty()) {
    const size_t more = containing.size() - std::min(containing.size(), kMaxWords);
    containing.resize(containing.size() - more);
    return concat("; words with it: ", joined(containing, ", "),
                  more > 0 ? concat(" and ", more, " more") : "");
  }
  const std::string nearest = text.size() < kMinNear ? std::string() : nearest_match(text, known);
  return nearest.empty() ? "; `explain` lists the words" : concat("; did you mean ", nearest, "?");
}

}  // namespace

std::vector<GlossaryEntry> with_backends(std::vector<GlossaryEntry> entries, const std::string& rows) {
  const auto backend_of = [](std::vector<GlossaryEntry>& some, const std::string& name) {
    return std::find_if(some.begin(), some.end(), [&](const GlossaryEntry& entry) {
      return entry.kind == "backend" &&
             std::find(entry.words.begin(), entry.words.end(), name) != entry.words.end();
    });
  };
  std::vector<GlossaryEntry> added;
  std::istringstream text(rows);
  for (std::string kind, device, name, file; text >> kind >> device >> name >> file;) {
    if (backend_of(entries, name) != entries.end()) continue;
    auto entry = backend_of(added, name);
    if (entry == added.end())
      entry = added.insert(entry, GlossaryEntry{{name}, "backend", "docs/add_a_backend.md", {}});
    entry->lines.push_back(
        concat("A backend of ", kind, " on the ", device == "gpu" ? "GPU" : "CPU", ": ", file));
  }
  entries.insert(entries.end(), added.begin(), added.end());
  return entries;
}

const std::vector<GlossaryEntry>& glossary() {
  static const std::vector<GlossaryEntry> entries = with_backends(
      parse(), std::string(embedded::backend_rows, embedded::backend_rows + embedded::backend_rows_size));
  return entries;
}

const GlossaryEntry* find_in_glossary(const std::string& word) {
  const std::string wanted = lower_case(word);
  if (const GlossaryEntry* const entry = entry_of(wanted)) return entry;
  if (const GlossaryEntry* const entry = entry_before_comma(wanted)) return entry;
  const size_t space = wanted.find(' ');
  if (space == std::string::npos) return nullptr;
  const std::string first = wanted.substr(0, space), rest = wanted.substr(space + 1);
  // "fp32 AVX2": a ceiling as the report prints it.
  if (first == "fp32" || first == "tf32" || first == "fp16") {
    if (const GlossaryEntry* const ceiling = entry_of(rest, "ceiling")) return ceiling;
  }
  // "cudnn faster", "direct NHWC": a column of one backend.
  if (entry_of(first, "backend") != nullptr) return entry_of(rest, "column");
  // "fused simd", "layered, tuned": a plan.
  if (first == "fused") return entry_of(rest, "backend");
  if (first == "layered,") return entry_of("layered");
  // "a pass of 64": with a number.
  const size_t number = wanted.find_last_not_of("0123456789,");
  if (number + 1 == wanted.size() || wanted[number] != ' ') return nullptr;
  return entry_of(wanted.substr(0, number));
}

std::string explain(const std::string& word) {
  const GlossaryEntry* const entry = find_in_glossary(word);
  if (entry == nullptr) {
    std::vector<std::string> known;
    for (const GlossaryEntry& one : glossary()) {
      for (const std::string& its : one.words) known.push_back(lower_case(its));
    }
    throw UsageError(
        concat("no entry for '", printable_excerpt(word), "'", near_words(lower_case(word), known)));
  }
  std::string text = concat(joined(entry->words, ", "), ": ", entry->kind, "\n");
  for (const std::string& line : entry->lines) text += concat("  ", line, "\n");
  return text + concat("Read on: ", entry->see, "\n");
}

std::string glossary_index() {
  std::string text;
  for (const char* kind : {"backend", "ceiling", "status", "column", "term", "key"}) {
    std::vector<std::string> words;
    for (const GlossaryEntry& entry : glossary()) {
      if (entry.kind != kind) continue;
      for (const std::string& word : entry.words)  // a comma separates words
        add_new(words, {word.find(',') == std::string::npos ? word : concat("'", word, "'")});
    }
    text += concat(kind, ": ", comma_list(words), "\n");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> legend_of(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> legend;
  for (const std::string& word : words) {
    const GlossaryEntry* const entry = find_in_glossary(word);
    if (entry == nullptr) continue;
    const auto same = std::find_if(legend.begin(), legend.end(),
                                   [&](const auto& one) { return one.second == entry->lines.at(0); });
    if (same == legend.end()) {
      legend.emplace_back(word, entry->lines.at(0));
    } else {
      same->first += ", " + word;
    }
  }
  return legend;
}

}  // namespace lenslet
