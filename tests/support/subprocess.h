// Runs a program as a shell does, and returns everything visible from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lenslet::test {

struct ProgramRun {
  static constexpr int kNoRights = 125;  // exit code if drop_file_rights is unavailable
  int exit_code = -1;                    // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
  /// What the test gave the program, for adds_reason(); set by run_words().
  std::string given;
  double seconds = 0, cpu_seconds = 0;  // wall time, and processor time
  long max_rss_kib = 0;
};

struct ProgramOptions {
  enum class Output { kCapture, kClosed, kFull, kReadOneLineThenClose };
  std::string standard_input;                      // given through a pipe
  bool terminal_on_stdin = false;                  // standard input is a terminal instead
  bool inherit_nothing_on_stdin = false;           // standard input closed
  Output output = Output::kCapture;                // kFull: /dev/full
  std::map<std::string, std::string> environment;  // added to this process's
  std::vector<std::string> unset;                  // taken from it
  std::string folder;                              // to run in; empty: this one
  bool keep_stdin_open = false;                    // the pipe stays open without data
  std::vector<int> ignored_signals;                // as under nohup
  std::string started_as;                          // argv[0]; empty: the program's path
  std::string append_output_to;                    // standard output is this file, as after >>
  double read_after_s = 0;         // > 0: standard output is a non-blocking pipe, first read after this time
  std::map<int, uint64_t> limits;  // of setrlimit(): RLIMIT_AS, RLIMIT_FSIZE, in bytes
  bool drop_file_rights = false;   // root may then open only files whose modes permit it
  double timeout_s = 600;          // for hangs; a busy machine may take minutes for seconds of work
  /// SIGINT is sent when this returns true. It is called every 20 ms with the output so far.
  std::function<bool(const ProgramRun& so_far, pid_t program)> interrupt_when;
};

/// For `interrupt_when`: true `seconds` after the program has printed `text`.
std::function<bool(const ProgramRun&, pid_t)> after_printing(const std::string& text, double seconds = 0);

/// `command[0]` is the program's path.
ProgramRun run_program(const std::vector<std::string>& command, const ProgramOptions& options = {});

}  // namespace lenslet::test
