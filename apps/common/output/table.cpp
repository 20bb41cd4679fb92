#include "apps/common/output/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "apps/common/output/table_fitter.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

constexpr size_t kMaxOfCell = 1000;  // bytes; limits a row whatever text the file contains
constexpr size_t kMinWidth = 40, kMaxWidth = 10000;

// The number at the start of a cell; HUGE_VAL without one.
double number_in(const std::string& cell) {
  char* end = nullptr;
  const double number = std::strtod(cell.c_str(), &end);
  return end == cell.c_str() ? HUGE_VAL : number;
}

}  // namespace

bool went_wrong(const std::string& status) {
  return status == row_status::kFailed || status == row_status::kError || status == row_status::kSuspect;
}

TableLook TableLook::of(int descriptor, bool wide) {
  TableLook look;
  look.wide = wide;
  const bool terminal = ::isatty(descriptor) != 0;
  const char* const stated = std::getenv("COLUMNS");
  size_t columns = stated == nullptr ? 0 : parse_number<size_t>(stated).value_or(0);
  winsize size = {};
  if (columns == 0 && terminal && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns > 0) look.width = std::clamp(columns, kMinWidth, kMaxWidth);
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  look.colour = terminal && (no_colour == nullptr || *no_colour == '\0') && term != nullptr &&
                std::strcmp(term, "dumb") != 0;
  return look;
}

Table& Table::column(std::string title, Align align, Use use) {
  columns_.push_back({std::move(title), align, use});
  return *this;
}

Table& Table::row(std::vector<std::string> cells) {
  if (cells.empty() || cells.size() > columns_.size()) throw std::logic_error("Table: wrong number of cells");
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable_excerpt(cell, kMaxOfCell);
  rows_.push_back(std::move(cells));
  return *this;
}

Table& Table::rule() {
  rows_.emplace_back();
  return *this;
}

Table& Table::mark_lowest_of_column(size_t column) {
  marked_columns_.push_back(column);
  return *this;
}

Table& Table::mark_lowest_of_rows() {
  mark_rows_ = true;
  return *this;
}

std::vector<std::vector<bool>> Table::lowest() const {
  std::vector<std::vector<bool>> marks(rows_.size(), std::vector<bool>(columns_.size()));
  for (const size_t column : marked_columns_) {
    for (size_t begin = 0, end = 0; begin < rows_.size(); begin = end + 1) {
      end = begin;
      size_t best = rows_.size();
      double min_number = HUGE_VAL;
      for (; end < rows_.size() && !rows_[end].empty(); ++end) {
        if (std::any_of(rows_[end].begin(), rows_[end].end(), went_wrong)) continue;
        const double number = number_in(rows_[end][column]);
        if (number >= min_number) continue;
        min_number = number;
        best = end;
      }
      if (best < rows_.size()) marks[best][column] = true;
    }
  }
  for (size_t row = 0; mark_rows_ && row < rows_.size(); ++row) {
    size_t best = 0;
    for (size_t i = 1; i < rows_[row].size(); ++i) {
      const double min_number = best == 0 ? HUGE_VAL : number_in(rows_[row][best]);
      if (number_in(rows_[row][i]) < min_number) best = i;
    }
    if (best > 0) marks[row][best] = true;
  }
  return marks;
}

std::vector<std::string> Table::words(const TableLook& look) const {
  std::vector<std::string> words;
  add_new(words, TableFitter(*this, look).titles());
  for (const Cells& cells : rows_) {
    for (const std::string& cell : cells) {
      const bool capitals = cell.size() > 2 && std::all_of(cell.begin(), cell.end(),
                                                           [](char c) { return c >= 'A' && c <= 'Z'; });
      if (capitals) add_new(words, {cell});
    }
  }
  return words;
}

std::string Table::to_string(const TableLook& look) const { return TableFitter(*this, look).text(); }

}  // namespace lenslet
