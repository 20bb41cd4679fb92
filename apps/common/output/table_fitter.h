// TableFitter: chooses what of a table is printed within a width, and prints it.
#pragma once

#include <string>
#include <vector>

#include "apps/common/output/table.h"

namespace lenslet {

class TableFitter {
 public:
  TableFitter(const Table& table, const TableLook& look);
  std::string text() const;
  /// The titles that text() has: of columns, and in the lines below them.
  const std::vector<std::string>& titles() const noexcept { return titles_; }

 private:
  struct Column {
    std::string title;
    Table::Align align;
    Table::Use use;
    std::vector<std::string> cells;  // by row
    std::vector<bool> lowest;        // by row
    size_t width = 0;                // of its longest cell; wrapped cells have more lines
  };

  bool is_rule(size_t row) const { return rules_[row]; }
  size_t total_width() const;
  bool fits() const { return total_width() <= look_.width; }
  void measure(Column& column) const;
  bool is_blank(const Column& column) const;
  bool is_constant(const Column& column) const;

  void drop_blank_columns();
  void move_notes_below();
  void state_constant_columns();
  void drop_optional_columns();
  void wrap_words();

  /// The key columns that a block repeats in front of column `i`.
  std::vector<size_t> keys_beside(size_t i) const;
  /// The columns of each block, which begins with the keys.
  std::vector<std::vector<size_t>> blocks() const;
  std::string block(const std::vector<size_t>& columns) const;
  std::string coloured(const Column& column, size_t row, const std::string& text) const;

  const TableLook look_;
  std::vector<bool> rules_;  // by row
  std::vector<Column> columns_;
  std::vector<std::string> below_;  // lines, wrapped
  std::vector<std::string> titles_;
};

}  // namespace lenslet
