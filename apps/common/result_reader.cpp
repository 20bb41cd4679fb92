#include "apps/common/result_reader.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "framework/error.h"
#include "framework/interruption.h"
#include "framework/io/file.h"
#include "framework/strict_json.h"
#include "framework/text.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxBytes =
    64u << 20;                        // ours have some 3 MiB; as a document in memory it takes ten times that
constexpr size_t kMaxRows = 100'000;  // ours have some 2,000
constexpr size_t kMaxEntries = 1024;  // of any other list; ours have some 20

/// An object of the document, and where it is: every message names both.
class Object {
 public:
  Object(const ordered_json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object())
      throw DataError(concat(where_, " must be an object, found ", json_excerpt(value)));
  }

  const std::string& where() const { return where_; }

  /// Null where the key is missing.
  const ordered_json* find(const char* key) const {
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  const ordered_json& at(const char* key) const {
    const ordered_json* found = find(key);
    if (found == nullptr) throw DataError(concat(where_, " lacks \"", key, "\""));
    return *found;
  }
  bool has(const char* key) const {
    const ordered_json* found = find(key);
    return found != nullptr && !found->is_null();
  }

  std::string text(const char* key) const { return as_text(key, at(key), false); }
  /// Null reads as the empty text.
  std::string text_or_null(const char* key) const { return as_text(key, at(key), true); }
  std::string optional_text(const char* key) const { return has(key) ? text(key) : std::string(); }
  bool flag(const char* key) const {
    if (!at(key).is_boolean()) throw wrong(key, "true or false");
    return at(key).get<bool>();
  }
  /// A finite number.
  double number(const char* key) const { return as_number(key, at(key)); }
  /// Null reads as NaN.
  double number_or_null(const char* key) const { return at(key).is_null() ? NAN : number(key); }
  double optional_number(const char* key) const { return has(key) ? number(key) : NAN; }
  int64_t count(const char* key) const {
    const ordered_json& value = at(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
      throw wrong(key, "a whole number >= 0");
    return value.get<int64_t>();
  }
  /// A count that a kernel launch can have.
  int small_count(const char* key) const {
    if (count(key) > INT32_MAX) throw wrong(key, concat("a whole number from 0 to ", INT32_MAX));
    return static_cast<int>(count(key));
  }
  const ordered_json& array(const char* key, size_t most = kMaxEntries) const {
    if (!at(key).is_array()) throw wrong(key, "an array");
    if (at(key).size() > most)
      throw DataError(
          concat(where_, ": \"", key, "\" has at most ", most, " entries, found ", at(key).size()));
    return at(key);
  }
  /// Every member, each a text.
  std::vector<std::pair<std::string, std::string>> texts() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [name, value] : value_.items()) all.emplace_back(name, as_text(name, value, false));
    return all;
  }
  /// Every member, each a number or null.
  std::vector<std::pair<std::string, double>> numbers_or_null() const {
    std::vector<std::pair<std::string, double>> all;
    for (const auto& [name, value] : value_.items())
      all.emplace_back(name, value.is_null() ? NAN : as_number(name, value));
    return all;
  }
  Object object(const char* key) const { return Object(at(key), concat(where_, ": \"", key, "\"")); }

  DataError wrong(const char* key, const std::string& expected) const {
    return wrong(key, at(key), expected);
  }

 private:
  DataError wrong(const std::string& key, const ordered_json& value, const std::string& expected) const {
    return DataError(concat(where_, ": \"", printable_excerpt(key), "\" must be ", expected, ", found ",
                            json_excerpt(value)));
  }
  std::string as_text(const std::string& key, const ordered_json& value, bool null_allowed) const {
    if (null_allowed && value.is_null()) return {};
    if (!value.is_string()) throw wrong(key, value, null_allowed ? "a text or null" : "a text");
    return value.get<std::string>();
  }
  double as_number(const std::string& key, const ordered_json& value) const {
    if (!value.is_number() || !std::isfinite(value.get<double>())) throw wrong(key, value, "a number");
    return value.get<double>();
  }

  const ordered_json& value_;
  std::string where_;
};

TimeStats read_time(const Object& stats, size_t samples) {
  TimeStats time;
  time.samples = samples;
  const std::pair<const char*, double*> steps[] = {{"min", &time.min},
                                                   {"p10", &time.p10},
                                                   {"median", &time.median},
                                                   {"p90", &time.p90},
                                                   {"max", &time.max}};
  double before = 0;
  for (const auto& [key, target] : steps) {
    *target = stats.number(key);
    if (!(*target >= before)) throw stats.wrong(key, concat("a time of at least ", before, " ns"));
    before = *target;
  }
  return time;
}

LaunchResources read_launch(const Object& entry) {
  LaunchResources launch;
  launch.kernel = entry.text("kernel");
  launch.threads_per_block = entry.small_count("threads_per_block");
  launch.registers_per_thread = entry.small_count("registers_per_thread");
  launch.shared_bytes = static_cast<size_t>(entry.count("shared_bytes"));
  launch.local_bytes = static_cast<size_t>(entry.count("local_bytes"));
  launch.blocks_per_multiprocessor = entry.small_count("blocks_per_multiprocessor");
  launch.occupancy = entry.number("occupancy");
  return launch;
}

// The keys that this schema got after its first files were written.
void read_study(const Object& entry, ResultRow& row) {
  row.study = entry.optional_text("study");
  if (entry.has("labels")) row.labels = entry.object("labels").texts();
  if (entry.has("end_to_end_ns")) {
    const Object stats = entry.object("end_to_end_ns");
    // One sample at least: there is a time.
    row.end_to_end = read_time(stats, std::max<size_t>(row.time.samples, 1));
  }
  row.ratio_to_cudnn = entry.optional_number("ratio_to_cudnn");
  if (entry.has("published")) {
    const Object figure = entry.object("published");
    row.published = PublishedFigure{figure.number_or_null("time_ns"), figure.number_or_null("gflops"),
                                    figure.text("source")};
  }
  if (entry.has("launches")) {
    size_t index = 0;
    for (const ordered_json& launch : entry.array("launches"))
      row.launches.push_back(
          read_launch(Object(launch, concat(entry.where(), ": \"launches\"[", index++, "]"))));
  }
  row.repro_benchdnn = entry.optional_text("repro_benchdnn");
  if (entry.has("products_saved")) row.products_saved = entry.number("products_saved");
}

ResultRow read_row(const Object& entry) {
  ResultRow row;
  row.name = entry.text_or_null("name");
  row.problem = entry.text_or_null("problem");
  row.backend = entry.text_or_null("backend");
  row.detail = entry.text_or_null("detail");
  row.math = entry.text_or_null("math");
  row.layout = entry.text_or_null("layout");
  row.cache = entry.text_or_null("cache");
  row.status = entry.text("status");
  const std::set<std::string> statuses = {"PASSED", "FAILED", "UNSUPPORTED", "SKIPPED", "SUSPECT", "ERROR"};
  if (statuses.count(row.status) == 0)
    throw entry.wrong("status", "PASSED, FAILED, UNSUPPORTED, SKIPPED, SUSPECT or ERROR");
  row.reason = entry.text_or_null("reason");
  const int64_t samples = entry.count("samples");
  if (!entry.at("time_ns").is_null()) {
    if (samples == 0) throw entry.wrong("samples", "1 or more where there is a time");
    row.time = read_time(entry.object("time_ns"), static_cast<size_t>(samples));
  } else if (samples != 0) {
    throw entry.wrong("samples", "0 where \"time_ns\" is null");
  }
  row.stages_ns = entry.object("stages_ns").numbers_or_null();
  row.setup_ns = entry.number_or_null("setup_ns");
  row.first_call_ns = entry.optional_number("first_call_ns");
  row.replayed = entry.has("replayed") && entry.flag("replayed");
  if (!entry.at("workspace_bytes").is_null()) row.workspace_bytes = entry.count("workspace_bytes");
  row.flops = entry.number_or_null("flops");
  row.bytes_ideal = entry.number_or_null("bytes_ideal");
  row.ceiling_fraction = entry.number_or_null("ceiling_fraction");
  row.bound_by = entry.text_or_null("bound_by");
  if (!entry.at("error").is_null()) {
    // Null is what a NaN or infinite deviation was written as.
    const Object error = entry.object("error");
    row.error = ResultError{error.number_or_null("max_abs"), error.number_or_null("max_rel"),
                            error.number_or_null("bound"), error.count("checked")};
  }
  row.repro = entry.text_or_null("repro");
  read_study(entry, row);
  return row;
}

Ceilings read_ceilings(const Object& entry) {
  Ceilings ceilings;
  const std::string device = entry.text("device");
  if (device != "cpu") {
    int ordinal = -1;
    if (device.rfind("cuda:", 0) == 0 && device.size() <= 8 && device.size() > 5 &&
        std::all_of(device.begin() + 5, device.end(), [](char c) { return c >= '0' && c <= '9'; }))
      ordinal = std::stoi(device.substr(5));
    if (ordinal < 0) throw entry.wrong("device", "cpu or cuda:N");
    ceilings.device = Device::cuda(ordinal);
  }
  ceilings.copy_bytes_per_s = entry.number_or_null("copy_bytes_per_s");
  ceilings.read_bytes_per_s = entry.optional_number("read_bytes_per_s");
  for (const ordered_json& item : entry.array("caches")) {
    const Object cache(item, entry.where() + ": an entry of \"caches\"");
    ceilings.caches.push_back({cache.text("name"), cache.number("capacity_bytes"),
                               cache.number_or_null("copy_bytes_per_s"),
                               cache.optional_number("read_bytes_per_s")});
  }
  if (entry.has("peaks")) {
    for (const ordered_json& item : entry.array("peaks")) {
      const Object peak(item, entry.where() + ": an entry of \"peaks\"");
      const std::string math = peak.text("math");
      if (math != "fp32" && math != "tf32" && math != "fp16") throw peak.wrong("math", "fp32, tf32 or fp16");
      ceilings.peaks.push_back(
          {parse_math_mode(math), peak.text("instruction"), peak.number_or_null("flops_per_s")});
    }
  }
  ceilings.fp32_flops_per_s = entry.number_or_null("fp32_flops_per_s");
  ceilings.tf32_flops_per_s = entry.number_or_null("tf32_flops_per_s");
  ceilings.fp16_flops_per_s = entry.number_or_null("fp16_flops_per_s");
  ceilings.launch_ns = entry.number_or_null("launch_ns");
  ceilings.replayed_launch_ns = entry.number_or_null("replayed_launch_ns");
  ceilings.gemm_library = entry.text("gemm_library");
  ceilings.notes = entry.text("notes");
  return ceilings;
}

ResultEnvironment read_environment(const Object& root) {
  ResultEnvironment environment;
  environment.tool = root.text("tool");
  const Object meta = root.object("meta");
  environment.version = meta.text("version");
  environment.git = meta.text("git");
  environment.dirty = meta.flag("dirty");
  environment.build_type = meta.text("build_type");
  environment.compiler = meta.text("compiler");
  environment.cuda_compiler = meta.text("cuda_compiler");
  for (const ordered_json& argument : meta.array("argv")) {
    if (!argument.is_string()) throw meta.wrong("argv", "an array of texts");
    environment.argv.push_back(argument.get<std::string>());
  }
  environment.time_utc = meta.text("time_utc");
  const Object host = root.object("host");
  environment.cpu = host.text("cpu");
  environment.threads_used = host.count("threads_used");
  for (const ordered_json& device : root.array("devices"))
    environment.devices.push_back(Object(device, root.where() + ": an entry of \"devices\"").text("name"));
  for (const ordered_json& item : root.array("libs")) {
    const Object library(item, root.where() + ": an entry of \"libs\"");
    environment.libs.push_back({library.text("name"), library.text_or_null("version"), library.text("path")});
  }
  if (root.has("settings")) environment.settings = root.object("settings").texts();
  return environment;
}

}  // namespace

std::string ResultEnvironment::device_name() const {
  if (devices.empty()) return printable_excerpt(cpu);
  constexpr size_t kMostNamed = 4;
  std::vector<std::pair<std::string, int>> counted;
  std::map<std::string, size_t> places;
  for (const std::string& name : devices) {
    const auto [place, added] = places.emplace(name, counted.size());
    if (added) counted.emplace_back(printable_excerpt(name), 0);
    ++counted[place->second].second;
  }
  std::string text;
  for (size_t i = 0; i < std::min(counted.size(), kMostNamed); ++i) {
    const auto& [name, count] = counted[i];
    text += (text.empty() ? "" : " and ") + (count > 1 ? concat(count, " x ") : std::string()) + name;
  }
  return counted.size() > kMostNamed ? concat(text, " and ", counted.size() - kMostNamed, " other models")
                                     : text;
}

ReadResults parse_results(const std::string& text, const std::string& origin) {
  if (text.size() > kMaxBytes)
    throw DataError(concat(origin, ": a result file has at most ", kMaxBytes, " bytes, found ", text.size()));
  const ordered_json document = parse_strict_json(text, origin);
  const Object root(document, origin);
  const std::string schema = root.text("schema");
  if (schema != ResultFile::kSchema)
    throw DataError(concat(origin, ": schema is \"", printable_excerpt(schema), "\", expected \"",
                           ResultFile::kSchema,
                           "\": a file that --json of profile, doctor or convbench wrote"));
  ReadResults results;
  results.path = origin;
  results.environment = read_environment(root);
  results.status = root.text("status");
  if (results.status != "COMPLETE" && results.status != "INTERRUPTED" && results.status != "ERROR")
    throw root.wrong("status", "COMPLETE, INTERRUPTED or ERROR");
  results.reason = root.text_or_null("reason");
  if (!root.at("ceilings").is_null()) results.ceilings = read_ceilings(root.object("ceilings"));
  size_t index = 0;
  for (const ordered_json& entry : root.array("results", kMaxRows)) {
    throw_if_reading_stopped();
    results.rows.push_back(read_row(Object(entry, concat(origin, ": results[", index++, "]"))));
  }
  return results;
}

ReadResults read_results(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxBytes);
  return parse_results(std::string(bytes.begin(), bytes.end()), printable_excerpt(path));
}

ResultEnvironment this_environment(const std::string& tool, bool with_gpus,
                                   const std::vector<std::pair<std::string, std::string>>& settings) {
  ResultFile file;
  file.tool = tool;
  file.with_gpus = with_gpus;
  file.settings = settings;
  return parse_results(file.to_json(), "this process").environment;
}

std::string row_key(const ResultRow& row) {
  std::string key = "study=" + row.study;
  // A separator that no name, problem string or label uses.
  for (const auto& [name, text] : row.labels) {
    if (name != "change") key += "\x1f" + name + "=" + text;
  }
  for (const std::string* part : {&row.name, &row.problem, &row.backend, &row.math, &row.layout, &row.cache})
    key += "\x1f" + *part;
  return key;
}

bool same_environment(const ResultEnvironment& a, const ResultEnvironment& b, std::string* reason) {
  const auto text = [](bool flag) { return std::string(flag ? "modified" : "unmodified"); };
  std::vector<std::vector<std::string>> pairs = {
      {"tool", a.tool, b.tool},
      {"version", a.version, b.version},
      {"commit", a.git, b.git},
      {"tree", text(a.dirty), text(b.dirty)},
      {"build type", a.build_type, b.build_type},
      {"compiler", a.compiler, b.compiler},
      {"CUDA compiler", a.cuda_compiler, b.cuda_compiler},
      {"device", a.device_name(), b.device_name()},
      {"threads", std::to_string(a.threads_used), std::to_string(b.threads_used)}};
  using Texts = std::map<std::string, std::string>;
  const auto text_in = [](const Texts& all, const std::string& name, const char* otherwise) {
    const auto found = all.find(name);
    return found == all.end() ? std::string(otherwise) : found->second;
  };
  const Texts settings[] = {{a.settings.begin(), a.settings.end()}, {b.settings.begin(), b.settings.end()}};
  for (const Texts& known : settings) {
    for (const auto& [name, value] : known)
      pairs.push_back({name, text_in(settings[0], name, "not said"), text_in(settings[1], name, "not said")});
  }
  Texts loaded;  // the first of a name
  for (const ResultLibrary& library : b.libs) loaded.emplace(library.name, library.version);
  for (const ResultLibrary& library : a.libs)
    pairs.push_back({library.name, library.version, text_in(loaded, library.name, "not loaded")});
  for (const auto& pair : pairs) {
    if (pair[1] == pair[2]) continue;
    if (reason != nullptr)
      *reason = concat(printable_excerpt(pair[0]), " differs: \"", printable_excerpt(pair[1]), "\" and \"",
                       printable_excerpt(pair[2]), "\"");
    return false;
  }
  return true;
}

}  // namespace lenslet
