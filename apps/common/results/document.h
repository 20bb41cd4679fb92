// Document: writes a result file member by member, so that a list of any length needs constant memory.
//
// Every document has the same head: schema, program, environment, and how the run ended. Strings are valid UTF-8:
// invalid bytes are written as the text \xNN. Characters beyond ASCII are escaped, so that a file can be printed on a
// terminal.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/fields/fields.h"
#include "apps/common/system/environment.h"
#include "framework/io/file.h"

namespace lenslet {

/// How the run ended that wrote a document.
namespace document_status {
inline constexpr const char* kComplete = "COMPLETE";
inline constexpr const char* kInterrupted = "INTERRUPTED";
inline constexpr const char* kError = "ERROR";
inline constexpr const char* kAll[] = {kComplete, kInterrupted, kError};
}  // namespace document_status

class Document {
 public:
  using Sink = std::function<void(const std::string&)>;
  /// Writes `schema` and the environment.
  Document(Sink sink, const char* schema, const ResultEnvironment& environment);
  ~Document();

  /// The outermost object; add no member between begin_list() and end_list().
  JsonObject& members();
  /// Adds `interrupted`, `status` (the worst of COMPLETE, INTERRUPTED and ERROR) and `reason`.
  void status(bool interrupted, const std::string& error);

  /// A member that is an array. entry() passes each entry to the sink immediately.
  void begin_list(const char* name);
  template <class Row>
  void entry(const Row& row) {
    JsonObject::put(begin_entry(), row);
    end_entry();
  }
  void end_list();
  template <class Rows>
  void list(const char* name, const Rows& rows) {
    begin_list(name);
    for (const auto& row : rows) entry(row);
    end_list();
  }
  /// Ends the document with a newline.
  void finish();

 private:
  nlohmann::ordered_json& begin_entry();
  void end_entry();
  /// Passes the complete members to the sink.
  void flush();

  Sink sink_;
  std::unique_ptr<nlohmann::ordered_json> pending_;  // members not yet passed on
  std::unique_ptr<nlohmann::ordered_json> entry_;    // of the open list
  std::unique_ptr<JsonObject> members_;
  bool first_member_ = true, first_entry_ = true;
};

/// Rows in a JSON and a CSV file, written as they come, so that any number needs constant memory. An empty name is no
/// file. A file that cannot be written does not end the command, which still prints its answers and writes the other
/// file: finish() throws the OutputError. Only ClosedPipe is thrown at once.
class RowFiles {
 public:
  /// Begins the CSV file with `columns`, and the document with the environment and `members`; rows are its `list`.
  /// Throws OutputError if a file cannot be opened.
  RowFiles(const std::string& json, const std::string& csv, const char* schema,
           const ResultEnvironment& environment, const std::vector<std::string>& columns, const char* list,
           const std::function<void(JsonObject&)>& members);
  template <class Row>
  void add(const Row& row) {
    guard(json_, [&] { document_->entry(row); });
    guard(csv_, [&] { csv_->write(csv_line(csv_row(row).cells)); });
  }
  /// Ends the document with `members` and the status, and commits the files. Throws the first OutputError of any call.
  void finish(bool interrupted, const std::string& error, const std::function<void(JsonObject&)>& members);

 private:
  /// Calls `write`, unless there is no such file. An OutputError drops the file.
  void guard(std::optional<OutputFile>& file, const std::function<void()>& write);

  std::optional<OutputFile> json_, csv_;
  std::optional<Document> document_;  // writes to json_
  std::exception_ptr fault_;
};

/// Writes a document to the file `path`, or nothing if the path is empty. `body` adds what follows the environment.
void write_document(const std::string& path, const char* schema, const ResultEnvironment& environment,
                    const std::function<void(Document&)>& body);

}  // namespace lenslet
