#include "apps/convbench/commands/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "apps/common/output/output.h"
#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/document.h"
#include "framework/base/counted.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.compare/1";
// z/2 for 99 %: the rank of the median has the standard deviation sqrt(n) / 2.
constexpr double kHalfWidth = 1.288;

// The quantile at `fraction`, interpolated linearly between the five known ones.
double quantile(const TimeStats& time, double fraction) {
  const std::pair<double, double> points[] = {
      {0.0, time.min}, {0.1, time.p10}, {0.5, time.median}, {0.9, time.p90}, {1.0, time.max}};
  for (size_t i = 1; i < std::size(points); ++i) {
    const auto& [x0, y0] = points[i - 1];
    const auto& [x1, y1] = points[i];
    if (fraction <= x1) return y0 + (y1 - y0) * (std::max(fraction, x0) - x0) / (x1 - x0);
  }
  return time.max;
}

std::string percent(double ratio) {
  const double change = (ratio - 1) * 100;
  return (change >= 0 ? "+" : "") + format_fixed(change, 1) + " %";
}

// Why a pair cannot be compared; empty if it can.
std::string obstacle(const ResultRow& before, const ResultRow& after) {
  if (before.status != row_status::kPassed && before.status == after.status && before.reason == after.reason)
    return concat(after.status, " in both files", after.reason.empty() ? "" : " (" + after.reason + ")");
  std::string why;
  for (const auto& [row, where] : {std::make_pair(&before, "old"), std::make_pair(&after, "new")}) {
    if (row->status != row_status::kPassed) {
      add_clause(why, concat(row->status, " in the ", where, " file"));
      if (!row->reason.empty()) why += " (" + row->reason + ")";
    } else if (row->time.samples == 0) {
      add_clause(why, concat("no time in the ", where, " file"));
    }
  }
  return why;
}

std::vector<std::string> differences(const ReadResults& before, const ReadResults& after) {
  std::vector<std::string> warnings;
  const ResultEnvironment &a = before.environment, &b = after.environment;
  if (a.device_name() != b.device_name())
    warnings.push_back(concat("DIFFERENT DEVICES: ", a.device_name(), " and ", b.device_name(),
                              ": what differs below may be the devices, not the program"));
  if (a.devices.empty() != b.devices.empty())
    warnings.push_back(
        concat("only the ", a.devices.empty() ? "new" : "old", " file was measured with CUDA"));
  std::map<std::string, std::string> versions;
  for (const LoadedLibrary& library : a.libs) versions.emplace(library.name, library.version);
  for (const LoadedLibrary& other : b.libs) {
    const auto found = versions.find(other.name);
    if (found != versions.end() && found->second != other.version)
      warnings.push_back(concat("another ", other.name, ": ", found->second, " and ", other.version));
  }
  if (a.build_type != b.build_type)
    warnings.push_back(concat("other build types: ", a.build_type, " and ", b.build_type));
  for (const auto& [file, where] : {std::make_pair(&before, "old"), std::make_pair(&after, "new")}) {
    if (file->environment.dirty)
      warnings.push_back(
          concat("the ", where, " file is of a modified tree, which its commit does not show"));
    if (!file->complete())
      warnings.push_back(concat("the ", where, " file is not complete: ", file->status,
                                file->reason.empty() ? "" : ", " + file->reason));
  }
  return warnings;
}

// Rows by key. Rows with the same key, which our files do not have, are paired in file order.
std::map<std::string, const ResultRow*> by_key(const std::vector<ResultRow>& rows) {
  std::map<std::string, const ResultRow*> map;
  std::map<std::string, size_t> copies;
  for (const ResultRow& row : rows) {
    const std::string key = row_key(row);
    const size_t copy = ++copies[key];
    map.emplace(copy == 1 ? key : concat(key, "\x1f#", copy), &row);
  }
  return map;
}

// Describes what a row measures, for people.
std::string describe(const ResultRow& row) {
  std::string text = row.study.empty() ? std::string() : "study " + row.study;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  };
  for (const auto& [name, value] : row.labels) {
    if (name == "table") {
      add(value);
    } else if (name != "change") {
      add(concat(name, " ", value));
    }
  }
  for (const std::string* part : {&row.name, &row.problem}) add(*part);
  for (const std::string* part : {&row.backend, &row.math, &row.layout, &row.cache}) add(*part);
  return text;
}

void print_header(Console& console, const ReadResults& before, const ReadResults& after) {
  for (const auto& [file, where] : {std::make_pair(&before, "old"), std::make_pair(&after, "new")}) {
    const ResultEnvironment& e = file->environment;
    console.line(printable_line(concat(where, ": ", file->path, " (", printable_excerpt(e.tool), ", ",
                                       printable_excerpt(e.git), e.dirty ? ", modified" : "", ", ",
                                       e.device_name(), ", ", printable_excerpt(e.time_utc), ", ",
                                       counted(file->rows.size(), "row"), ")")));
  }
}

void print_rows(Console& console, const Comparison& comparison) {
  Table table;
  table.column("verdict").column("what", Table::Align::kLeft, Table::Use::kKey);
  table.column("old").column("new").column("change");
  table.column("interval, >= 95 %", Table::Align::kLeft)
      .column("reason", Table::Align::kLeft, Table::Use::kNote);
  bool any = false;
  for (const Change wanted : {Change::kSlower, Change::kUnclear, Change::kFaster, Change::kSame}) {
    for (const ComparedRow& row : comparison.rows) {
      if (row.change != wanted) continue;
      any = true;
      const std::string interval =
          std::isnan(row.ratio_interval.low)
              ? "-"
              : percent(row.ratio_interval.low) + " to " + percent(row.ratio_interval.high);
      table.row({to_string(row.change), describe(*row.after), format_time(row.before->time.median),
                 format_time(row.after->time.median), percent(row.ratio), interval, row.reason});
    }
  }
  if (!any) return;
  console.line();
  console.print(table);
}

void print_uncompared(Console& console, const Comparison& comparison) {
  if (comparison.uncompared.empty()) return;
  Table table;
  table.column("not compared", Table::Align::kLeft).column("reason", Table::Align::kLeft, Table::Use::kNote);
  for (const UncomparedRow& row : comparison.uncompared)
    table.row({describe(row.after != nullptr ? *row.after : *row.before), row.reason});
  console.line();
  console.print(table);
}

// Why no row got a verdict; empty if a row did.
std::string why_nothing(const Comparison& comparison) {
  if (!comparison.rows.empty()) return {};
  const auto shared =
      std::count_if(comparison.uncompared.begin(), comparison.uncompared.end(),
                    [](const UncomparedRow& row) { return row.before != nullptr && row.after != nullptr; });
  if (shared == 0) return "the files have no row in common";
  return concat("of the ", counted(shared, "row"), " in common none passed in both files");
}

void write_json(const std::string& path, const Comparison& comparison, const ReadResults& before,
                const ReadResults& after, double threshold) {
  write_document(path, kSchema, this_environment("convbench compare", false), [&](Document& document) {
    JsonObject& json = document.members();
    for (const auto& [file, name] : {std::pair(&before, "old"), std::pair(&after, "new")}) {
      const ReadResults& read = *file;
      const ResultEnvironment& e = read.environment;
      json.group(name, [&](JsonObject& members) {
        members("path", read.path)("tool", e.tool)("git", e.git)("dirty", e.dirty);
        members("device", e.device_name())("time_utc", e.time_utc)("status", read.status);
      });
    }
    json("threshold", threshold)("warnings", comparison.warnings);
    json.group("counts", [&](JsonObject& counts) {
      for (const Change change : {Change::kSame, Change::kFaster, Change::kSlower, Change::kUnclear})
        counts(to_string(change), comparison.count(change));
      counts("not_compared", comparison.uncompared.size())("broken", comparison.broken());
    });
    document.list("rows", comparison.rows);
    document.list("not_compared", comparison.uncompared);
  });
}

}  // namespace

const char* to_string(Change change) {
  switch (change) {
    case Change::kSame:
      return "SAME";
    case Change::kFaster:
      return kFasterWord;
    case Change::kSlower:
      return kSlowerWord;
    case Change::kUnclear:
      break;
  }
  return "UNCLEAR";
}

Interval median_interval(const TimeStats& time) {
  if (time.samples < kMinComparedSamples) return {};
  const double n = static_cast<double>(time.samples);
  const double offset = kHalfWidth / std::sqrt(n) + 0.5 / n;
  return {quantile(time, std::max(0.0, 0.5 - offset)), quantile(time, std::min(1.0, 0.5 + offset))};
}

size_t Comparison::count(Change change) const {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const ComparedRow& row) { return row.change == change; }));
}

size_t Comparison::broken() const {
  return static_cast<size_t>(std::count_if(uncompared.begin(), uncompared.end(),
                                           [](const UncomparedRow& row) { return row.broke; }));
}

ComparedRow compare_times(const ResultRow& before, const ResultRow& after, double threshold) {
  ComparedRow row;
  row.before = &before;
  row.after = &after;
  if (before.time.median > 0) row.ratio = after.time.median / before.time.median;
  const Interval a = median_interval(before.time), b = median_interval(after.time);
  if (std::isnan(a.low) || std::isnan(b.low)) {
    row.reason = concat("too few samples: ", before.time.samples, " and ", after.time.samples, ", at least ",
                        kMinComparedSamples, " each are needed");
    return row;
  }
  if (!(a.low > 0 && b.low > 0)) {
    row.reason = "a time of 0: below what the clock resolves";
    return row;
  }
  row.ratio_interval = {b.low / a.high, b.high / a.low};
  const double max_ratio = 1 + threshold, min_ratio = 1 / (1 + threshold);
  if (row.ratio_interval.low > max_ratio) {
    row.change = Change::kSlower;
  } else if (row.ratio_interval.high < min_ratio) {
    row.change = Change::kFaster;
  } else if (row.ratio_interval.low >= min_ratio && row.ratio_interval.high <= max_ratio) {
    row.change = Change::kSame;
  } else {
    row.reason = "the interval reaches across the threshold: measure longer, or on a quieter machine";
  }
  return row;
}

Comparison compare_results(const ReadResults& before, const ReadResults& after, double threshold) {
  Comparison comparison;
  comparison.warnings = differences(before, after);
  const auto old_rows = by_key(before.rows), new_rows = by_key(after.rows);
  std::map<const ResultRow*, const ResultRow*> partner;  // from a row to the other file's row
  for (const auto& [key, row] : new_rows) {
    const auto found = old_rows.find(key);
    if (found == old_rows.end()) continue;
    partner[row] = found->second;
    partner[found->second] = row;
  }
  for (const ResultRow& row : after.rows) {
    const auto found = partner.find(&row);
    if (found == partner.end()) {
      comparison.uncompared.push_back({nullptr, &row, "only in the new file"});
      continue;
    }
    const ResultRow& old_row = *found->second;
    const std::string why = obstacle(old_row, row);
    if (why.empty()) {
      comparison.rows.push_back(compare_times(old_row, row, threshold));
    } else {
      comparison.uncompared.push_back(
          {&old_row, &row, why, old_row.status == row_status::kPassed && went_wrong(row.status)});
    }
  }
  for (const ResultRow& row : before.rows) {
    if (partner.count(&row) == 0) comparison.uncompared.push_back({&row, nullptr, "only in the old file"});
  }
  return comparison;
}

ExitCode run_compare(const CompareOptions& options) {
  Console console({{"--json", options.json}},
                  {{"the old file", options.files[0]}, {"the new file", options.files[1]}}, options.tables);
  const ReadResults before = read_results(options.files[0]), after = read_results(options.files[1]);
  const double threshold = options.threshold_percent / 100;
  const Comparison comparison = compare_results(before, after, threshold);
  if (comparison.rows.empty() && comparison.uncompared.empty())
    throw DataError(concat(before.path, " and ", after.path, " have no rows: nothing to compare"));
  print_header(console, before, after);
  for (const std::string& warning : comparison.warnings) console.line(printable_line("warning: " + warning));
  print_rows(console, comparison);
  print_uncompared(console, comparison);
  console.line();
  console.line(concat(comparison.count(Change::kSame), " SAME, ", comparison.count(Change::kFaster),
                      " FASTER, ", comparison.count(Change::kSlower), " SLOWER, ",
                      comparison.count(Change::kUnclear), " UNCLEAR (threshold ",
                      format_short(options.threshold_percent), " %), ", comparison.uncompared.size(),
                      " not compared, ", comparison.broken(), " of them no longer PASSED"));
  // Repeated at the end of the output, where readers notice it.
  if (before.environment.device_name() != after.environment.device_name())
    console.line("DIFFERENT DEVICES: see the warning above");
  const std::string nothing = why_nothing(comparison);
  if (!nothing.empty()) console.line("NOTHING WAS COMPARED: " + nothing);
  write_json(options.json, comparison, before, after, threshold);
  if (options.strict && !nothing.empty())
    throw CheckError(concat("nothing was compared, and --strict was given: ", nothing));
  const bool worse = comparison.count(Change::kSlower) + comparison.broken() > 0;
  return options.strict && worse ? ExitCode::kCheckFailed : ExitCode::kOk;
}

}  // namespace lenslet
