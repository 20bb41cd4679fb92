// A table of text with aligned columns, fitted to the width of the terminal.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Verdicts of a comparison; a table colours them as it colours the statuses of rows.
inline constexpr const char* kFasterWord = "FASTER";
inline constexpr const char* kSlowerWord = "SLOWER";

/// Options of commands that print tables.
struct TableOptions {
  bool wide = false;    // every column, uncut, whatever the width
  bool legend = false;  // below each table, what its columns and words mean
};

/// How tables are drawn.
struct TableLook {
  static constexpr size_t kDefaultWidth = 100;  // columns, where neither COLUMNS nor a terminal states one

  size_t width = kDefaultWidth;  // of the longest line
  bool wide = false;             // see TableOptions
  bool colour = false;

  /// For text that goes to this file descriptor: COLUMNS, else the terminal's width, else 100 columns; colour on a
  /// terminal unless NO_COLOR is set or TERM is dumb.
  static TableLook of(int descriptor, bool wide = false);
};

/// `text` in lines of at most `width` columns, cut at spaces and commas where possible; from the second line on
/// indented by `indent` spaces. No line is empty, unless the text is.
std::vector<std::string> wrapped(const std::string& text, size_t width, size_t indent = 0);

/// Whether the status of a row is FAILED, ERROR or SUSPECT.
bool went_wrong(const std::string& status);

/// What does not fit is left out in this order: columns without content; texts of kNote columns, which move below the
/// table under a number; columns of words that are equal in every row, which a line below names; kIfItFits columns from
/// the right. Then words wrap, and at last the table is printed in blocks of columns.
class Table {
 public:
  enum class Align { kLeft, kRight };
  /// kKey identifies a row, with the first column: every block of columns begins with these, as far as there is room.
  enum class Use { kAlways, kIfItFits, kNote, kKey };

  Table& column(std::string title, Align align = Align::kRight, Use use = Use::kAlways);
  /// Missing cells at the end are empty. Throws std::logic_error for more cells than columns.
  Table& row(std::vector<std::string> cells);
  /// A horizontal rule before the next row.
  Table& rule();
  /// Colours the lowest number of a column between two rules, or of each row; rows that went wrong do not count.
  Table& mark_lowest_of_column(size_t column);
  Table& mark_lowest_of_rows();
  bool empty() const noexcept { return rows_.empty(); }
  /// The titles of the columns that are printed, and the words of status cells, each once.
  std::vector<std::string> words(const TableLook& look) const;
  /// Two spaces between columns, no space at the end of a line.
  std::string to_string(const TableLook& look = {}) const;

 private:
  friend class TableFitter;
  struct Column {
    std::string title;
    Align align;
    Use use;
  };
  using Cells = std::vector<std::string>;  // empty: a rule

  /// By row and column: whether a cell has the lowest number.
  std::vector<std::vector<bool>> lowest() const;

  std::vector<Column> columns_;
  std::vector<Cells> rows_;
  std::vector<size_t> marked_columns_;
  bool mark_rows_ = false;
};

}  // namespace lenslet
