// TableOf: prints rows as a table. Each column is defined once, by its title and its cell.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/result_file.h"

namespace lenslet {

template <class Row>
class TableOf {
 public:
  using Words = std::function<std::string(const Row&)>;  // also a member: &ResultRow::backend
  using Number = std::function<double(const Row&)>;

  /// A left-aligned column of words.
  TableOf& words(const char* title, Words cell) { return add({title, Table::Align::kLeft, std::move(cell)}); }
  /// A right-aligned column; `cell` returns the text.
  TableOf& number(const char* title, Words cell) {
    return add({title, Table::Align::kRight, std::move(cell)});
  }
  /// Text that is printed below the table, once, under a number.
  TableOf& note(const char* title, Words cell) {
    words(title, std::move(cell));
    columns_.back().use = Table::Use::kNote;
    return *this;
  }
  /// The column added last may be left out of a narrow terminal.
  TableOf& if_it_fits() {
    columns_.back().use = Table::Use::kIfItFits;
    return *this;
  }
  /// The column added last identifies a row, with the first column and other keys: it is repeated in a table of several
  /// blocks.
  TableOf& key() {
    columns_.back().use = Table::Use::kKey;
    return *this;
  }
  /// The row with the lowest number in the column added last is coloured, by group.
  TableOf& lowest_is_best() {
    marked_ = columns_.size();
    return *this;
  }
  /// A right-aligned column of numbers; `show` formats each, NaN as "-".
  TableOf& number(const char* title, Number value, std::string (*show)(double)) {
    return number(title, [value = std::move(value), show](const Row& row) { return show(value(row)); });
  }
  /// Median of Row::time in microseconds; the lowest is best.
  TableOf& median(const char* title = "median us") {
    return quantile(title, &TimeStats::median).lowest_is_best();
  }
  /// p10 and p90 of Row::time in microseconds, if they fit.
  TableOf& spread() {
    quantile("p10", &TimeStats::p10).if_it_fits();
    return quantile("p90", &TimeStats::p90).if_it_fits();
  }

  // For tables of ResultRow only:

  /// The median including copies from and to the host.
  TableOf& with_copies();
  /// "of ceiling", the share of the nearest ceiling, and that ceiling.
  TableOf& share();
  TableOf& nearest_ceiling();
  /// Why the row did not pass, as a note.
  TableOf& reason();
  /// Registers, shared memory and occupancy of the first kernel.
  TableOf& launch();

  /// `group`: draws a rule wherever its text changes; may be empty.
  Table of(const std::vector<Row>& rows, const Words& group = {}) const {
    Table table;
    for (const Column& column : columns_) table.column(column.title, column.align, column.use);
    if (marked_ > 0) table.mark_lowest_of_column(marked_ - 1);
    std::string last;
    for (const Row& row : rows) {
      const std::string now = group ? group(row) : std::string();
      if (!last.empty() && now != last) table.rule();
      last = now;
      std::vector<std::string> cells;
      for (const Column& column : columns_) cells.push_back(column.cell(row));
      table.row(std::move(cells));
    }
    return table;
  }

 private:
  struct Column {
    const char* title;
    Table::Align align;
    Words cell;
    Table::Use use = Table::Use::kAlways;
  };
  TableOf& quantile(const char* title, double TimeStats::*which) {
    return number(
        title, [which](const Row& row) { return row.time.samples > 0 ? row.time.*which : NAN; }, format_us);
  }
  TableOf& add(Column column) {
    columns_.push_back(std::move(column));
    return *this;
  }
  std::vector<Column> columns_;
  size_t marked_ = 0;  // index + 1; 0: none
};

using RowTable = TableOf<ResultRow>;
template <>
RowTable& RowTable::with_copies();
template <>
RowTable& RowTable::share();
template <>
RowTable& RowTable::nearest_ceiling();
template <>
RowTable& RowTable::reason();
template <>
RowTable& RowTable::launch();

/// The median in nanoseconds, and the median with copies; NaN without samples.
double median_ns(const ResultRow& row);
double end_to_end_ns(const ResultRow& row);

/// Medians, spread, rates, share of the ceiling, ratio to cuDNN, workspace, error and bound; reasons below.
Table row_table(const std::vector<ResultRow>& rows);

/// A ratio such as "0.83" as text; "-" if unknown.
std::string format_ratio(double ratio);

}  // namespace lenslet
