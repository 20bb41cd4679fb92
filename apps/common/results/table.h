// A table of text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

class Table {
 public:
  enum class Align { kLeft, kRight };

  Table& column(std::string title, Align align = Align::kRight);
  /// Missing cells at the end are empty. Throws std::logic_error for more cells than columns.
  Table& row(std::vector<std::string> cells);
  /// A horizontal rule before the next row.
  Table& rule();
  /// Two spaces between columns, no space at the end of a line.
  std::string to_string() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // no cells: a rule
};

}  // namespace lenslet
