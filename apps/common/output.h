// Where text goes: standard output, or standard error when a machine-readable file takes standard output.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/io/file.h"

namespace lenslet {

/// Keeps descriptors 0, 1 and 2 taken, so that no file of ours becomes standard output where the caller
/// closed it, and turns a closed pipe and a file that grows beyond its limit (ulimit -f) into errors that can be
/// handled. Call first in main().
void prepare_standard_streams();

/// Writes all of it. Throws ClosedPipe or OutputError.
void write_standard_output(const std::string& text);
/// One line on standard error, whatever becomes of it.
void write_standard_error(const std::string& text) noexcept;

/// An option, or what else names a file on the command line, and the file: {"--json", "x.json"}.
using NamedFile = std::pair<std::string, std::string>;

/// Throws UsageError where two outputs name one file, or an output a file that is read, by whatever name: links and
/// redirected streams are followed. Empty names are none.
void demand_different_files(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs = {});

/// Tries each output before the work whose results it takes: throws the OutputError that opening it would end in. What
/// stands there stays as it is. Empty names and streams are left alone.
void demand_writable(const std::vector<NamedFile>& outputs);

/// Text for people.
class Console {
 public:
  /// `outputs` are the machine-readable ones, such as --json and --csv: at most one may be standard output, none may be
  /// another or one of `inputs`, and all can be written. Throws UsageError and what demand_writable() throws.
  explicit Console(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs = {});
  /// Lines, whose invisible characters become escapes (printable_lines): no text of a file steers a terminal.
  void print(const std::string& text);
  /// print() with a newline.
  void line(const std::string& text = {}) { print(text + "\n"); }

 private:
  bool to_stderr_ = false;
};

/// Opens `path`, writes and commits; nothing for an empty path.
void write_result(const std::string& path, const std::string& text);

}  // namespace lenslet
