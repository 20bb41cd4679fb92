#include "apps/common/output/table_fitter.h"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

constexpr size_t kGap = 2;             // spaces between columns
constexpr size_t kMinWordsWidth = 16;  // of a column whose cells are wrapped
constexpr const char* kNoteTitle = "note";

// Width in terminal columns: bytes that do not continue a UTF-8 sequence.
size_t display_width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Where the text's first `width` characters end.
size_t end_of_characters(const std::string& text, size_t width) {
  size_t at = 0;
  for (; at < text.size() && width > 0; --width) at += std::max<size_t>(1, utf8_sequence_length(text, at));
  return at;
}

// "  1  a reason that goes on", and below it lines indented like the text.
void add_note(std::vector<std::string>& lines, const std::string& head, const std::string& text,
              size_t width) {
  for (std::string& line : wrapped(head + text, width, display_width(head))) lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, size_t width, size_t indent) {
  if (width < indent + kMinWordsWidth) indent = 0;
  std::vector<std::string> lines;
  std::string rest = text;
  while (display_width(rest) > width) {
    const size_t end = end_of_characters(rest, width);
    const size_t begin = rest.find_first_not_of(' ');  // what precedes it stays
    const size_t first = std::max(begin, lines.empty() ? indent : size_t{0}) + 1;
    size_t cut = rest.rfind(' ', end);
    if (cut == std::string::npos || cut < first) {
      const size_t mark = rest.find_last_of(",+/", end - 1);
      cut = mark == std::string::npos || mark < first ? end : mark + 1;
    }
    lines.push_back(rest.substr(0, rest.find_last_not_of(' ', cut - 1) + 1));
    rest.erase(0, std::min(rest.size(), rest.find_first_not_of(' ', cut)));
    if (rest.empty()) return lines;
    rest.insert(0, indent, ' ');
  }
  lines.push_back(rest);
  return lines;
}

TableFitter::TableFitter(const Table& table, const TableLook& look) : look_(look) {
  const auto lowest = table.lowest();
  for (const Table::Cells& cells : table.rows_) rules_.push_back(cells.empty());
  for (size_t i = 0; i < table.columns_.size(); ++i) {
    const Table::Column& source = table.columns_[i];
    Column column{source.title, source.align, source.use, {}, {}};
    for (size_t row = 0; row < table.rows_.size(); ++row) {
      column.cells.push_back(rules_[row] ? std::string() : table.rows_[row][i]);
      column.lowest.push_back(lowest[row][i]);
    }
    measure(column);
    columns_.push_back(std::move(column));
  }
  if (!look_.wide) {
    drop_blank_columns();
    move_notes_below();
  }
  for (const Column& column : columns_) titles_.push_back(column.title);
  if (look_.wide) return;
  state_constant_columns();
  drop_optional_columns();
  wrap_words();
}

void TableFitter::measure(Column& column) const {
  column.width = display_width(column.title);
  for (const std::string& cell : column.cells) column.width = std::max(column.width, display_width(cell));
}

size_t TableFitter::total_width() const {
  size_t total = 0;
  for (const Column& column : columns_) total += column.width + kGap;
  return total - std::min(total, kGap);
}

bool TableFitter::is_blank(const Column& column) const {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell.empty() || cell == "-"; });
}

bool TableFitter::is_constant(const Column& column) const {
  const std::string* first = nullptr;
  size_t rows = 0;
  for (size_t row = 0; row < rules_.size(); ++row) {
    if (is_rule(row)) continue;
    ++rows;
    if (first != nullptr && column.cells[row] != *first) return false;
    first = &column.cells[row];
  }
  return rows > 1 && !first->empty();
}

void TableFitter::drop_blank_columns() {
  if (rules_.empty() || columns_.empty()) return;
  columns_.erase(std::remove_if(columns_.begin() + 1, columns_.end(),
                                [this](const Column& column) { return is_blank(column); }),
                 columns_.end());
}

void TableFitter::move_notes_below() {
  std::map<std::string, size_t> numbers;
  std::vector<std::string> texts;
  Column note{kNoteTitle, Table::Align::kRight, Table::Use::kAlways, {}, {}};
  note.lowest.resize(rules_.size());
  bool any = false;
  for (size_t row = 0; row < rules_.size(); ++row) {
    std::string marks;
    for (const Column& column : columns_) {
      if (column.use != Table::Use::kNote || column.cells[row].empty() || column.cells[row] == "-") continue;
      const auto [number, added] = numbers.emplace(column.cells[row], texts.size() + 1);
      if (added) texts.push_back(column.cells[row]);
      marks += concat(marks.empty() ? "" : " ", number->second);
      any = true;
    }
    note.cells.push_back(marks);
  }
  columns_.erase(std::remove_if(columns_.begin(), columns_.end(),
                                [](const Column& column) { return column.use == Table::Use::kNote; }),
                 columns_.end());
  if (!any) return;
  measure(note);
  columns_.push_back(std::move(note));
  const size_t digits = std::to_string(texts.size()).size();
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    add_note(below_, concat(std::string(digits + kGap - number.size(), ' '), number, "  "), texts[i],
             look_.width);
  }
}

void TableFitter::state_constant_columns() {
  std::vector<std::string> stated;
  for (size_t i = 1; i < columns_.size() && !fits();) {
    const Column& column = columns_[i];
    if (column.align != Table::Align::kLeft || !is_constant(column)) {
      ++i;
      continue;
    }
    stated.push_back(concat(column.title, " ", column.cells.front()));
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!stated.empty()) add_note(below_, "every row: ", comma_list(stated), look_.width);
}

void TableFitter::drop_optional_columns() {
  std::vector<std::string> dropped;
  for (size_t i = columns_.size(); i-- > 1 && !fits();) {
    if (columns_[i].use != Table::Use::kIfItFits) continue;
    dropped.insert(dropped.begin(), columns_[i].title);
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!dropped.empty()) add_note(below_, "--wide adds: ", comma_list(dropped), look_.width);
}

void TableFitter::wrap_words() {
  while (!fits()) {
    Column* widest = nullptr;
    for (Column& column : columns_) {
      const size_t min_width = std::max(kMinWordsWidth, display_width(column.title));
      if (column.align != Table::Align::kLeft || column.width <= min_width) continue;
      if (widest == nullptr || column.width > widest->width) widest = &column;
    }
    if (widest == nullptr) break;
    --widest->width;
  }
  // No single column, next to the first, is wider than a line.
  for (Column& column : columns_) column.width = std::min(column.width, (look_.width - kGap) / 2);
}

// The first column, which always fits a line beside column `i`, and from the left those keys that still do.
std::vector<size_t> TableFitter::keys_beside(size_t i) const {
  std::vector<size_t> keys;
  size_t width = columns_[i].width;
  for (size_t k = 0; k < i; ++k) {
    const size_t with_key = width + columns_[k].width + kGap;
    if (k > 0 && (columns_[k].use != Table::Use::kKey || with_key > look_.width)) continue;
    keys.push_back(k);
    width = with_key;
  }
  return keys;
}

std::vector<std::vector<size_t>> TableFitter::blocks() const {
  std::vector<std::vector<size_t>> all = {{}};
  size_t width = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!look_.wide && all.back().size() > 1 && width + kGap + columns_[i].width > look_.width) {
      all.push_back(keys_beside(i));
      width = 0;
      for (const size_t key : all.back()) width += (width == 0 ? 0 : kGap) + columns_[key].width;
    }
    width += (all.back().empty() ? 0 : kGap) + columns_[i].width;
    all.back().push_back(i);
  }
  return all;
}

std::string TableFitter::coloured(const Column& column, size_t row, const std::string& text) const {
  if (!look_.colour || text.empty()) return text;
  const std::string& cell = column.cells[row];
  const char* code = column.lowest[row] ? "1;32" : nullptr;
  if (cell == row_status::kPassed || cell == kFasterWord || cell == "yes") code = "32";
  if (cell == row_status::kFailed || cell == row_status::kError || cell == kSlowerWord) code = "1;31";
  if (cell == row_status::kSuspect) code = "33";
  return code == nullptr ? text : concat("\x1b[", code, "m", text, "\x1b[0m");
}

std::string TableFitter::block(const std::vector<size_t>& columns) const {
  size_t total = 0;
  for (const size_t i : columns) total += columns_[i].width + kGap;
  const std::string across = std::string(total - std::min(total, kGap), '-') + "\n";
  std::string out;
  const auto append_row = [&](const auto& text_of, const auto& painted) {
    std::vector<std::vector<std::string>> cells;
    size_t lines = 0;
    for (const size_t i : columns) {
      cells.push_back(wrapped(text_of(columns_[i]), std::max<size_t>(1, columns_[i].width)));
      lines = std::max(lines, cells.back().size());
    }
    for (size_t line = 0; line < lines; ++line) {
      std::string before, text;  // the line without the blanks that end it, and those blanks
      for (size_t k = 0; k < columns.size(); ++k) {
        const Column& column = columns_[columns[k]];
        const std::string part = line < cells[k].size() ? cells[k][line] : std::string();
        const std::string padding(column.width - std::min(column.width, display_width(part)), ' ');
        if (k > 0) before.append(kGap, ' ');
        if (column.align == Table::Align::kRight) before += padding;
        if (!part.empty()) text += std::exchange(before, std::string()) + painted(column, part);
        if (column.align == Table::Align::kLeft) before += padding;
      }
      out += text + "\n";
    }
  };
  append_row([](const Column& column) { return column.title; },
             [](const Column&, const std::string& text) { return text; });
  out += across;
  for (size_t row = 0; row < rules_.size(); ++row) {
    if (is_rule(row)) {
      out += across;
      continue;
    }
    append_row([row](const Column& column) { return column.cells[row]; },
               [&](const Column& column, const std::string& text) { return coloured(column, row, text); });
  }
  return out;
}

std::string TableFitter::text() const {
  std::string out;
  for (const std::vector<size_t>& columns : blocks()) out += (out.empty() ? "" : "\n") + block(columns);
  for (const std::string& line : below_) out += line + "\n";
  return out;
}

}  // namespace lenslet
