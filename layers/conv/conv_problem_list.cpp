#include "layers/conv/conv_problem_list.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxProblems = 10'000;

}  // namespace

std::vector<Conv2dProblem> parse_problem_list(const std::string& text, const std::string& origin) {
  constexpr const char* kBlanks = " \t\r";
  std::vector<Conv2dProblem> problems;
  const std::string_view all = text;
  size_t number = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t end_of_line = std::min(all.find('\n', at), all.size());
    std::string_view line = all.substr(at, end_of_line - at);
    at = end_of_line + 1;
    ++number;
    line = line.substr(0, line.find('#'));
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) continue;
    if (problems.size() == kMaxProblems)
      throw DataError(concat(origin, ":", number, ": a list has at most ", kMaxProblems, " problems"));
    const size_t end = line.find_last_not_of(kBlanks);
    try {
      problems.push_back(Conv2dProblem::parse(line.substr(begin, end - begin + 1)));
    } catch (const UsageError& error) {
      throw DataError(concat(origin, ":", number, ": ", error.what()));
    }
  }
  return problems;
}

std::vector<Conv2dProblem> read_problem_list(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxFileBytes);
  return parse_problem_list(std::string(bytes.begin(), bytes.end()), printable_excerpt(path));
}

std::vector<Conv2dProblem> listed_problems(const std::string& folder, const std::string& list,
                                           const std::string& backend) {
  const bool own = list == "launches";
  const std::string path = concat(folder, "/", list, own ? "_" + backend : "", ".txt");
  if (own && !std::filesystem::exists(path)) return {};
  return read_problem_list(path);
}

}  // namespace lenslet
