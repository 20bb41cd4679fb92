#include "apps/common/fields/fields.h"

#include <cstdio>

#include "apps/common/output/text.h"
#include "framework/base/error.h"

namespace lenslet {

std::string CsvRow::column_of(Key key) const {
  if (key.csv != nullptr) return key.csv;
  if (prefix_.empty()) return key.json;
  if (!ends_with(prefix_, "_ns")) return concat(prefix_, "_", key.json);
  const std::string stem = prefix_.substr(0, prefix_.size() - 3);
  return concat(stem == "time" ? std::string() : stem + "_", key.json, "_ns");
}

CsvRow& CsvRow::cell(Key key, const std::string& content) {
  columns.push_back(column_of(key));
  cells.push_back(blank_ ? std::string() : content);
  return *this;
}

CsvRow& CsvRow::text_cell(Key key, const std::string& text) { return cell(key, csv_field(text)); }

std::string CsvRow::number(double value) {
  if (!std::isfinite(value)) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + cells[i];
  return line + "\n";
}

}  // namespace lenslet
