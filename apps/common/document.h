// Document: a result file as it is written, member by member, so that a list of any length needs constant memory.
//
// Each has one head: its schema, the program that wrote it and what that ran on, and how the run ended. Strings are
// valid UTF-8: other bytes appear as the text \xNN. Everything beyond ASCII is escaped, so that a file can be printed
// on a terminal.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/common/environment.h"
#include "apps/common/fields.h"

namespace lenslet {

class Document {
 public:
  using Sink = std::function<void(const std::string&)>;
  /// Writes `schema` and the environment.
  Document(Sink sink, const char* schema, const ResultEnvironment& environment);
  ~Document();

  /// The outermost object; none may be added between begin_list() and end_list().
  JsonObject& members();
  /// The members `interrupted`, `status` (COMPLETE, INTERRUPTED or ERROR, whichever is worse) and `reason`.
  void status(bool interrupted, const std::string& error);

  /// A member that is an array. Each entry() is handed to the sink at once.
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
  /// Hands over the complete members.
  void flush();

  Sink sink_;
  std::unique_ptr<nlohmann::ordered_json> pending_;  // members not handed over yet
  std::unique_ptr<nlohmann::ordered_json> entry_;    // of the open list
  std::unique_ptr<JsonObject> members_;
  bool first_member_ = true, first_entry_ = true;
};

/// Writes a document to the file `path`; nothing for an empty path. `body` adds what follows the environment.
void write_document(const std::string& path, const char* schema, const ResultEnvironment& environment,
                    const std::function<void(Document&)>& body);

}  // namespace lenslet
