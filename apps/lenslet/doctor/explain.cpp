// lenslet explain: what a word in tables, result files and the report means.
#include "apps/common/output/glossary.h"
#include "apps/common/output/output.h"
#include "apps/lenslet/commands.h"
#include "framework/base/text.h"

namespace lenslet {

ExitCode run_explain(const ExplainOptions& options) {
  Console console({});
  // "nearest ceiling" needs no quotes.
  const std::string text = options.words.empty() ? glossary_index() : explain(joined(options.words, " "));
  console.prose(text.substr(0, text.size() - 1), 2);
  return ExitCode::kOk;
}

}  // namespace lenslet
