#include "layers/conv/conv_problem_list.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/file_guess.h"
#include "layers/conv/conv_problem_options.h"

namespace lenslet {
namespace {

// Far above the lists of oneDNN's benchmark, hundreds of problems in a file: they bound what a wrong file, or one that
// names others in turn, can cost. 10,000 problems of 100 bytes are a file of kMaxFileBytes.
constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxProblems = 10'000;
constexpr int kMaxFiles = 64;
constexpr size_t kMaxFaults = 1000;  // more are not read
// The message gives the reasons of so many faults, and the line numbers of the others.
constexpr size_t kExplainedFaults = 5;
constexpr size_t kNamedFaults = 80;  // and counts the rest
constexpr size_t kReasonBytes = 220;
constexpr std::string_view kBlanks = " \t\r";

/// The part of a line before its comment. A `#` inside a quoted name starts none.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Words divided by blanks outside quotes.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  bool quoted = false, inside = false;
  size_t begin = 0;
  for (size_t i = 0; i <= line.size(); ++i) {
    const bool blank = i == line.size() || (!quoted && kBlanks.find(line[i]) != std::string_view::npos);
    if (blank && inside) words.push_back(line.substr(begin, i - begin));
    if (!blank && !inside) begin = i;
    inside = !blank;
    if (i < line.size() && line[i] == '"') quoted = !quoted;
  }
  return words;
}

class ListReader {
 public:
  ListReader(const std::string& origin, const ReadList& read) : origin_(origin), read_(read) {}

  std::vector<ListedProblem> read(const std::string& text) {
    read_text(text, origin_);
    if (!faults_.empty()) throw DataError(faults_text());
    return std::move(problems_);
  }

 private:
  struct Fault {
    std::string origin;
    size_t line;
    std::string reason;  // of the first kExplainedFaults
  };

  void read_text(const std::string& text, const std::string& origin) {
    open_.push_back(file_of(origin));
    read_lines(text, origin);
    open_.pop_back();
  }

  /// The file whatever its name; the name itself if there is no such file.
  static std::string file_of(const std::string& origin) { return real_path(origin, origin); }

  void read_lines(const std::string& text, const std::string& origin) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // editors put it before UTF-8
    std::string_view all = text;
    if (all.substr(0, kByteOrderMark.size()) == kByteOrderMark) all.remove_prefix(kByteOrderMark.size());
    std::string line;  // with the lines that continue it
    size_t number = 0, first = 1;
    for (size_t at = 0; at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      const std::string_view part = trimmed(without_comment(all.substr(at, end - at)));
      at = end + 1;
      ++number;
      if (line.empty()) first = number;
      line += part;
      if (!line.empty() && line.back() == '\\' && at < all.size()) {
        line.pop_back();
        // A blank before the `\` divides words, unless the value goes on, after a comma.
        const size_t length = trimmed(line).size();
        const bool divides = length < line.size() && length > 0 && line[length - 1] != ',';
        line.resize(length);
        if (divides) line += ' ';
        continue;
      }
      read_line(line, origin, first);
      line.clear();
    }
  }

  void read_line(const std::string& line, const std::string& origin, size_t number) {
    for (const std::string_view word : words_of(line)) {
      try {
        if (word.front() != '-') {
          add(word, origin, number);
        } else if (const std::string file = options_.take(word); !file.empty()) {
          read_file_of(file, origin);
        }
      } catch (const UsageError& error) {
        add_fault(origin, number, error.what());
      }
    }
  }

  void add(std::string_view word, const std::string& origin, size_t number) {
    ListedProblem listed = listed_problem(word);
    const std::string refused = options_.refused();
    if (!refused.empty()) {
      listed.text = concat(refused, " ", listed.text);
      if (listed.unsupported.empty()) listed.unsupported = concat("Lenslet does not measure ", refused);
    }
    std::vector<std::optional<ElementType>> types(options_.types().begin(), options_.types().end());
    if (types.empty()) types.emplace_back();
    for (const std::optional<ElementType>& type : types) {
      if (type) listed.problem.type = *type;
      listed.has_type = type.has_value();
      add_batches(listed, origin, number);
    }
  }

  void add_batches(const ListedProblem& listed, const std::string& origin, size_t number) {
    for (const int batch : options_.batches()) {
      if (problems_.size() == kMaxProblems)
        throw DataError(concat(through(origin), printable_excerpt(origin, 200), ":", number,
                               ": a list has at most ", kMaxProblems, " problems"));
      ListedProblem& one = problems_.emplace_back(listed);
      if (batch == 0 || !one.unsupported.empty()) continue;
      one.problem.n = batch;
      one.problem.check();
      one.text = one.problem.to_string();
    }
  }

  void read_file_of(const std::string& file, const std::string& origin) {
    if (++files_ > kMaxFiles)
      throw UsageError(concat("a list names at most ", kMaxFiles, " files by --batch"));
    const std::string path = (std::filesystem::path(origin).parent_path() / file).string();
    if (const auto reading = std::find(open_.begin(), open_.end(), file_of(path)); reading != open_.end()) {
      const bool itself = reading + 1 == open_.end();
      throw UsageError(concat("--batch: ", printable_excerpt(path, 200),
                              itself ? " names itself" : " names this list, and this list names it"));
    }
    std::string text;
    try {
      text = read_(path);
    } catch (const DataError& error) {
      throw UsageError(concat("--batch: ", error.what()));
    }
    read_text(text, path);
  }

  void add_fault(const std::string& origin, size_t line, const std::string& reason) {
    faults_.push_back({origin, line, faults_.size() < kExplainedFaults ? reason : std::string()});
    if (faults_.size() == kMaxFaults) throw DataError(faults_text());
  }

  /// "list.txt: " if `origin` is a file that the list names, so that every message names the list.
  std::string through(const std::string& origin) const {
    return origin == origin_ ? std::string() : concat(printable_excerpt(origin_, 200), ": ");
  }

  /// One line: the reasons of the first faults, the places of the next, the number of the others.
  std::string faults_text() const {
    const auto place = [this](size_t i) {
      const Fault& fault = faults_[i];
      const bool same = i > 0 && faults_[i - 1].origin == fault.origin;
      return same ? concat("line ", fault.line)
                  : concat(printable_excerpt(fault.origin, 200), ":", fault.line);
    };
    const size_t explained = std::min(faults_.size(), kExplainedFaults);
    std::vector<std::string> parts;
    for (size_t i = 0; i < explained; ++i) {
      const std::string& reason = faults_[i].reason;
      parts.push_back(
          concat(place(i), ": ", faults_.size() == 1 ? reason : printable_excerpt(reason, kReasonBytes)));
    }
    std::string text = through(faults_[0].origin) + joined(parts, "; ");
    if (faults_.size() == explained) return text;
    size_t named = explained;
    const char* before = "; also malformed: ";
    // A message of kMaxLineBytes would lose its middle.
    for (; named < std::min(faults_.size(), kNamedFaults) && text.size() < kMaxLineBytes - 300; ++named) {
      const Fault &fault = faults_[named], &last = faults_[named - 1];
      if (fault.origin == last.origin && fault.line == last.line) continue;  // several in one line
      text += concat(before, place(named));
      before = ", ";
    }
    if (named < faults_.size()) text += concat(" and ", faults_.size() - named, " or more others");
    return text;
  }

  const std::string& origin_;
  const ReadList& read_;
  ProblemOptions options_;
  std::vector<ListedProblem> problems_;
  std::vector<Fault> faults_;
  int files_ = 0;
  std::vector<std::string> open_;  // the files that are being read, each named by the one before
};

std::string file_text(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxFileBytes);
  if (std::find(bytes.begin(), bytes.end(), uint8_t{0}) != bytes.end()) {
    const std::string guess = guess_format(bytes.data(), bytes.size(), "it has no problems");
    throw DataError(concat(printable_excerpt(path), ": expected a list of problems as text, found ",
                           guess.empty() ? "binary data" : concat("what seems to be ", guess)));
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace

ListedProblem listed_problem(std::string_view text) {
  try {
    Conv2dProblem problem = Conv2dProblem::parse(text);
    std::string canonical = problem.to_string();
    return {std::move(problem), std::move(canonical), {}, false};
  } catch (const UnavailableError& error) {
    return {{}, printable_excerpt(text), error.what(), false};
  }
}

std::vector<ListedProblem> parse_problem_list(const std::string& text, const std::string& origin,
                                              const ReadList& read) {
  return ListReader(origin, read).read(text);
}

std::vector<ListedProblem> read_problem_list(const std::string& path, std::vector<std::string>* files) {
  const auto read = [files](const std::string& file) {
    if (files) files->push_back(file);
    return file_text(file);
  };
  return parse_problem_list(read(path), path, read);
}

std::vector<Conv2dProblem> listed_problems(const std::string& folder, const std::string& list,
                                           const std::string& backend) {
  const bool own = list == "launches";
  const std::string path = concat(folder, "/", list, own ? "_" + backend : "", ".txt");
  std::vector<Conv2dProblem> problems;
  if (own && !std::filesystem::exists(path)) return problems;
  for (ListedProblem& listed : read_problem_list(path)) {
    if (!listed.unsupported.empty())
      throw DataError(concat(path, ": ", listed.text, ": ", listed.unsupported));
    problems.push_back(std::move(listed.problem));
  }
  return problems;
}

}  // namespace lenslet
