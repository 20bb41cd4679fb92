#include "apps/convbench/bench/published.h"

#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "framework/base/parse_number.h"

namespace lenslet {
namespace embedded {
extern const unsigned char published_csv[];  // apps/convbench/bench/published.csv
extern const std::size_t published_csv_size;
}  // namespace embedded

namespace {

/// The cells of a line; cells with commas are quoted.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

/// NaN for an empty cell.
double number(const std::string& cell) {
  if (cell.empty()) return NAN;
  if (const std::optional<double> value = parse_number<double>(cell)) return *value;
  throw std::logic_error("published.csv: no number: " + cell);
}

using Figures = std::map<std::vector<std::string>, PublishedFigure>;

/// By table, variant, size and setting.
Figures read_figures() {
  constexpr std::size_t kKeys = 4, kCells = kKeys + 3;  // then time_ms, gflops, source
  Figures figures;
  std::string_view text(reinterpret_cast<const char*>(embedded::published_csv), embedded::published_csv_size);
  text.remove_prefix(text.find('\n') + 1);  // the heading
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::vector<std::string> cells = cells_of(text.substr(0, end));
    if (cells.size() != kCells) throw std::logic_error("published.csv: a line has too many or too few cells");
    figures[{cells.begin(), cells.begin() + kKeys}] = {number(cells[4]) * 1e6, number(cells[5]), cells[6]};
    text.remove_prefix(end + 1);
  }
  return figures;
}

}  // namespace

std::optional<PublishedFigure> published_figure(const std::string& table, const std::string& variant,
                                                int size, const std::string& setting) {
  static const Figures figures = read_figures();
  const auto found = figures.find({table, variant, std::to_string(size), setting});
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace lenslet
