// Result files read back, and compared with themselves.
#include "apps/common/results/result_reader.h"

#include "apps/convbench/commands/compare.h"
#include "framework/base/text.h"
#include "framework/measuring/row_status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(results) {
  ReadResults results;
  if (!accepts("file.json", [&] { results = parse_results(text_of(data, size), "file.json"); })) return;
  std::string difference;
  check(same_environment(results.environment, results.environment, &difference),
        "a file's environment is its own: " + difference);
  const std::string device = results.environment.device_name();
  check(!device.empty() || results.environment.cpu.empty() || !results.environment.devices.empty(),
        "a device has a name");
  check(printable(device) == device && device.size() < 10000, "a device's name can be shown");
  for (const ResultRow& row : results.rows) {
    const TimeStats& time = row.time;
    check(time.samples == 0 || (time.min <= time.p10 && time.p10 <= time.median && time.median <= time.p90 &&
                                time.p90 <= time.max),
          "quantiles are in order");
    check(row_key(row) == row_key(row), "a row has one key");
  }
  const Comparison comparison = compare_results(results, results, 0.03);
  check(comparison.count(Change::kFaster) == 0 && comparison.count(Change::kSlower) == 0 &&
            comparison.broken() == 0,
        "nothing is faster or slower than itself");
}

LENSLET_FUZZ_SEEDS(results) {
  ResultRow row;
  row.name = "rung";
  row.problem = "mb8ic32ih64oc128oh62kh3";
  row.backend = "implicit_gemm.03_thread_tile";
  row.math = "fp32";
  row.layout = "NHWC";
  row.cache = "cold";
  row.status = row_status::kPassed;
  row.study = "b";
  row.labels = {{"table", "ladder"}, {"change", "a tile in registers"}};
  row.time = {101, 1000.5, 1010.25, 1020, 1100.75, 5000};
  row.end_to_end = {101, 9000, 9100, 9200, 9300, 9400};
  row.stages_ns = {{"im2col", 100.5}, {"gemm", 900}};
  row.workspace_bytes = 1048576;
  row.flops = 2.5e9;
  row.error = ResultError{1e-6, 2e-5, 3e-5, 3935232};
  row.published = PublishedFigure{355904, 6370, "study B"};
  row.launches = {{"conv_kernel", 256, 64, 32768, 16, 4, 0.5}};
  row.repro = "convbench run --problem x";
  ResultRow disordered = row;
  disordered.time.p90 = disordered.time.min;
  ResultRow failed;
  failed.status = row_status::kFailed;
  failed.reason = "wrong";
  Ceilings ceilings;
  ceilings.caches = {{"L2", 62914560, 4.6e12}};
  ResultFile file;
  file.tool = "convbench ladder";
  file.ceilings = &ceilings;
  file.rows = {row, failed};
  const std::string whole = file.to_json();
  file.rows = {disordered};
  const std::string wrong = file.to_json();
  file.ceilings = nullptr;
  file.rows.clear();
  file.interrupted = true;
  const std::string nul(1, '\0');
  const std::string key_with_nul =
      "{\"schema\": \"lenslet.results/1\", \"settings\": {\"a\\u0000b\": \"1\", \"a\": \"2\"}}";
  std::string steering = whole;
  steering.replace(steering.find("a tile"), 6, "\\u001b[2J\\u202e");
  return {test::bytes_of(whole),
          test::bytes_of(whole + nul + whole),
          test::bytes_of(key_with_nul),
          test::bytes_of(steering),
          test::bytes_of(file.to_json()),
          test::bytes_of(whole.substr(0, whole.size() / 2)),
          test::bytes_of("{\"schema\": \"lenslet.results/1\"}"),
          test::bytes_of(wrong),
          test::bytes_of("[[[[[[[[[[[[[[[[[[[[")};
}
