// RowTable: prints result rows as a table. Each column is defined once, by its title and its cell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "apps/common/table.h"

namespace lenslet {

class RowTable {
 public:
  using Words = std::function<std::string(const ResultRow&)>;  // also a member: &ResultRow::backend
  using Number = std::function<double(const ResultRow&)>;

  /// A left-aligned column of words.
  RowTable& words(const char* title, Words cell);
  /// A right-aligned column of numbers. `show` formats the number; NaN is "-".
  RowTable& number(const char* title, Words cell);
  RowTable& number(const char* title, Number value, std::string (*show)(double));
  /// Median, p10 and p90 in microseconds.
  RowTable& times(const char* title = "median us");
  /// The median including copies from and to the host.
  RowTable& with_copies();
  /// "of ceiling", and the ceiling that binds.
  RowTable& share();
  RowTable& bound_by();
  /// Registers, shared memory and occupancy of the first kernel.
  RowTable& launch();

  /// `group`: draws a rule wherever its text changes; may be empty.
  std::string of(const std::vector<ResultRow>& rows, const Words& group = {}) const;

 private:
  struct Column {
    const char* title;
    Table::Align align;
    Words cell;
  };
  std::vector<Column> columns_;
};

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
