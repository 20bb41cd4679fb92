#include "apps/common/results/table.h"

#include <algorithm>
#include <stdexcept>

#include "framework/base/text.h"

namespace lenslet {
namespace {

constexpr size_t kMostOfCell = 1000;  // bytes; limits a row whatever text the file contains

// Width in terminal columns: bytes that do not continue a UTF-8 sequence.
size_t display_width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

Table& Table::column(std::string title, Align align) {
  columns_.push_back({std::move(title), align});
  return *this;
}

Table& Table::row(std::vector<std::string> cells) {
  if (cells.empty() || cells.size() > columns_.size()) throw std::logic_error("Table: wrong number of cells");
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable_excerpt(cell, kMostOfCell);
  rows_.push_back(std::move(cells));
  return *this;
}

Table& Table::rule() {
  rows_.emplace_back();
  return *this;
}

std::string Table::to_string() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].title));
    for (const auto& cells : rows_) {
      if (!cells.empty()) widths[i] = std::max(widths[i], display_width(cells[i]));
    }
  }
  size_t total = 0;
  for (const size_t width : widths) total += width + 2;

  std::string out;
  const auto append_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::kLeft ? cell + padding : padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  const std::string across = std::string(total > 2 ? total - 2 : 0, '-') + "\n";
  out += across;
  for (const auto& cells : rows_) {
    if (cells.empty()) {
      out += across;
    } else {
      append_line([&](size_t i) -> const std::string& { return cells[i]; });
    }
  }
  return out;
}

}  // namespace lenslet
