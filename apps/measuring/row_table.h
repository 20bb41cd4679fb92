// TableOf: prints rows as a table. Each column is defined once, by its title and its cell.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/output/text.h"
#include "apps/common/results/result_file.h"
#include "apps/common/results/table.h"

namespace lenslet {

template <class Row>
class TableOf {
 public:
  using Words = std::function<std::string(const Row&)>;  // also a member: &ResultRow::backend
  using Number = std::function<double(const Row&)>;

  /// A left-aligned column of words.
  TableOf& words(const char* title, Words cell) { return add({title, Table::Align::kLeft, std::move(cell)}); }
  /// A right-aligned column of numbers. `show` formats the number; NaN is "-".
  TableOf& number(const char* title, Words cell) {
    return add({title, Table::Align::kRight, std::move(cell)});
  }
  TableOf& number(const char* title, Number value, std::string (*show)(double)) {
    return number(title, [value = std::move(value), show](const Row& row) { return show(value(row)); });
  }
  /// Median, p10 and p90 of Row::time in microseconds.
  TableOf& times(const char* title = "median us") {
    const auto quantile = [this](const char* name, double TimeStats::*which) {
      number(
          name, [which](const Row& row) { return row.time.samples > 0 ? row.time.*which : NAN; }, format_us);
    };
    quantile(title, &TimeStats::median);
    quantile("p10", &TimeStats::p10);
    quantile("p90", &TimeStats::p90);
    return *this;
  }

  // Of ResultRow alone:

  /// The median including copies from and to the host.
  TableOf& with_copies();
  /// "of ceiling", and the ceiling that binds.
  TableOf& share();
  TableOf& bound_by();
  /// Registers, shared memory and occupancy of the first kernel.
  TableOf& launch();

  /// `group`: draws a rule wherever its text changes; may be empty.
  std::string of(const std::vector<Row>& rows, const Words& group = {}) const {
    Table table;
    for (const Column& column : columns_) table.column(column.title, column.align);
    std::string last;
    for (const Row& row : rows) {
      const std::string now = group ? group(row) : std::string();
      if (!last.empty() && now != last) table.rule();
      last = now;
      std::vector<std::string> cells;
      for (const Column& column : columns_) cells.push_back(column.cell(row));
      table.row(std::move(cells));
    }
    return table.to_string();
  }

 private:
  struct Column {
    const char* title;
    Table::Align align;
    Words cell;
  };
  TableOf& add(Column column) {
    columns_.push_back(std::move(column));
    return *this;
  }
  std::vector<Column> columns_;
};

using RowTable = TableOf<ResultRow>;
template <>
RowTable& RowTable::with_copies();
template <>
RowTable& RowTable::share();
template <>
RowTable& RowTable::bound_by();
template <>
RowTable& RowTable::launch();

/// The median in nanoseconds, and the median with copies; NaN without samples.
double median_ns(const ResultRow& row);
double end_to_end_ns(const ResultRow& row);

/// Lines below a table: why rows did not pass, each reason once. `about` names the row.
std::string row_notes(const std::vector<ResultRow>& rows, const RowTable::Words& about);

/// Medians, spread, rates, share of the ceiling, ratio to cuDNN, workspace, error and bound; reasons below.
std::string row_table(const std::vector<ResultRow>& rows);

/// A ratio such as "0.83" as text; "-" if unknown.
std::string format_ratio(double ratio);

}  // namespace lenslet
