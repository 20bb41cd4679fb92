// Where text goes: standard output, or standard error if a machine-readable file goes to standard output.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/output/table.h"
#include "framework/base/error.h"
#include "framework/io/file.h"

namespace lenslet {

/// Keeps descriptors 0, 1 and 2 occupied, so that no file of ours becomes standard output if the caller closed it. A
/// closed pipe and a file beyond its size limit (ulimit -f) become errors instead of signals. Call it first in main().
void prepare_standard_streams();

/// Writes all of the text. Throws ClosedPipe or OutputError.
void write_standard_output(const std::string& text);
/// Writes a line to standard error and ignores errors.
void write_standard_error(const std::string& text) noexcept;

/// Drops what is written to standard output from now on: of a process whose results another one prints.
void silence_standard_output();

/// What messages call a file, such as its option, and its path: {"--json", "x.json"}.
using NamedFile = std::pair<std::string, std::string>;

/// `files` as the values of one option.
std::vector<NamedFile> files_named(const char* option, const std::vector<std::string>& files);

/// Throws UsageError if two outputs name the same file, or if an output is also read. Links and redirected streams are
/// resolved. Empty names are ignored.
void check_different_files(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs = {});

/// Opens each output before the work begins; throws the OutputError that writing it would end in. Existing content is
/// kept. Empty names and streams are ignored.
void check_writable_files(const std::vector<NamedFile>& outputs);

/// Text for people.
class Console {
 public:
  /// `outputs` are machine-readable, such as --json and --csv. At most one may be standard output, all are writable,
  /// and each must differ from the others and from `inputs`. Throws UsageError and the errors of
  /// check_writable_files().
  explicit Console(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs = {},
                   TableOptions tables = {});
  /// Throws UsageError if an output is one of `inputs`: files that were found after the outputs were opened, such as
  /// the external data of a model.
  void keep(const std::vector<NamedFile>& inputs) const { check_different_files(outputs_, inputs); }
  /// Prints lines, with control characters escaped (printable_lines): text from a file must not control the terminal.
  void print(const std::string& text);
  /// Prints a line, wrapped to the width of the tables; what does not fit follows on lines indented by `indent`.
  void line(const std::string& text = {}, size_t indent = 0);
  /// Prints a table, fitted to the terminal; nothing if it has no row.
  void print(const Table& table);

 private:
  void write(const std::string& text) const;

  std::vector<NamedFile> outputs_;
  bool to_stderr_ = false;
  TableLook look_;
  bool legend_;
  std::vector<std::string> explained_;  // by a legend
};

/// Opens `path`, writes and commits; does nothing if the path is empty.
void write_result(const std::string& path, const std::string& text);

}  // namespace lenslet
