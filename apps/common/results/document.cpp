#include "apps/common/results/document.h"

#include <nlohmann/json.hpp>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

constexpr size_t kColumns = 120;

std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t length = utf8_sequence_length(text, pos);
    if (length > 0) {
      out.append(text, pos, length);
    } else {
      out += printable(text.substr(pos, 1));
    }
    pos += std::max<size_t>(length, 1);
  }
  return out;
}

std::string dumped(const ordered_json& value) {
  return value.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

std::string new_line(size_t depth) { return "\n" + std::string(2 * depth, ' '); }

// A value that fits is written on one line; otherwise each member or entry begins a new line.
void append(std::string& out, const ordered_json& value, size_t depth) {
  const std::string line = dumped(value);
  if (!value.is_structured() || 2 * depth + line.size() <= kColumns) {
    out += line;
    return;
  }
  out += value.is_object() ? '{' : '[';
  const char* separator = "";
  for (const auto& [name, member] : value.items()) {
    out += separator + new_line(depth + 1);
    if (value.is_object()) out += dumped(name) + ": ";
    append(out, member, depth + 1);
    separator = ",";
  }
  out += new_line(depth);
  out += value.is_object() ? '}' : ']';
}

}  // namespace

JsonObject::JsonObject(Json& value) : object_(value) { value = Json::object(); }

JsonObject::Json& JsonObject::add(std::string_view name) {
  // Field lists contain each key once, so no search for a duplicate is needed; the reader refuses a repeated key.
  auto& members = object_.get_ref<Json::object_t&>();
  members.emplace_back(utf8(name), nullptr);
  return members.back().second;
}

void JsonObject::make_list(Json& value) { value = Json::array(); }
JsonObject::Json& JsonObject::add_entry(Json& list) { return list.emplace_back(nullptr); }
void JsonObject::put_flag(Json& to, bool flag) { to = flag; }
// dump() writes null for a number that is not finite.
void JsonObject::put_number(Json& to, double number) { to = number; }
void JsonObject::put_integer(Json& to, int64_t number) { to = number; }
void JsonObject::put_count(Json& to, uint64_t number) { to = number; }
void JsonObject::put_text(Json& to, std::string_view text) { to = utf8(text); }

Document::Document(Sink sink, const char* schema, const ResultEnvironment& environment)
    : sink_(std::move(sink)),
      pending_(std::make_unique<ordered_json>()),
      entry_(std::make_unique<ordered_json>()),
      members_(std::make_unique<JsonObject>(*pending_)) {
  members()("schema", schema);
  Fields<ResultEnvironment>::of(environment, members());
}

Document::~Document() = default;

JsonObject& Document::members() { return *members_; }

void Document::status(bool interrupted, const std::string& error) {
  members()("interrupted", interrupted);
  members()("status", !error.empty() ? document_status::kError
                      : interrupted  ? document_status::kInterrupted
                                     : document_status::kComplete);
  members()("reason", error);
}

void Document::flush() {
  std::string text;
  for (const auto& [name, member] : pending_->items()) {
    text += (std::exchange(first_member_, false) ? "{" : ",") + new_line(1) + dumped(name) + ": ";
    append(text, member, 1);
  }
  pending_->clear();
  sink_(text);
}

void Document::begin_list(const char* name) {
  flush();
  sink_((std::exchange(first_member_, false) ? "{" : ",") + new_line(1) + dumped(name) + ": [");
  first_entry_ = true;
}

ordered_json& Document::begin_entry() { return *entry_ = nullptr; }

void Document::end_entry() {
  std::string text = (std::exchange(first_entry_, false) ? "" : ",") + new_line(2);
  append(text, *entry_, 2);
  sink_(text);
}

void Document::end_list() { sink_(first_entry_ ? "]" : new_line(1) + "]"); }

void Document::finish() {
  flush();
  sink_("\n}\n");
}

RowFiles::RowFiles(const std::string& json, const std::string& csv, const char* schema,
                   const ResultEnvironment& environment, const std::vector<std::string>& columns,
                   const char* list, const std::function<void(JsonObject&)>& members) {
  if (!csv.empty()) csv_.emplace(csv);
  guard(csv_, [&] { csv_->write(csv_line(columns)); });
  if (!json.empty()) json_.emplace(json);
  guard(json_, [&] {
    document_.emplace([this](const std::string& part) { json_->write(part); }, schema, environment);
    members(document_->members());
    document_->begin_list(list);
  });
}

void RowFiles::guard(std::optional<OutputFile>& file, const std::function<void()>& write) {
  if (!file) return;
  try {
    write();
  } catch (const ClosedPipe&) {
    throw;
  } catch (const OutputError&) {
    if (!fault_) fault_ = std::current_exception();
    file.reset();
  }
}

void RowFiles::finish(bool interrupted, const std::string& error,
                      const std::function<void(JsonObject&)>& members) {
  guard(json_, [&] {
    document_->end_list();
    members(document_->members());
    document_->status(interrupted, error);
    document_->finish();
    json_->commit();
  });
  guard(csv_, [&] { csv_->commit(); });
  if (fault_) std::rethrow_exception(fault_);
}

void write_document(const std::string& path, const char* schema, const ResultEnvironment& environment,
                    const std::function<void(Document&)>& body) {
  if (path.empty()) return;
  OutputFile file(path);
  Document document([&](const std::string& part) { file.write(part); }, schema, environment);
  body(document);
  document.finish();
  file.commit();
}

}  // namespace lenslet
