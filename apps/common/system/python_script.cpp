#include "apps/common/system/python_script.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/graph/module.h"

// POSIX defines it, but no header declares it without extensions.
extern char** environ;  // NOLINT

namespace lenslet {
namespace {

constexpr int kNotFound = 127;      // a shell's exit code for a command that was not found
constexpr size_t kMaxWords = 4096;  // bytes kept from the end of the script's output, for a message

bool is_file(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string find_script(const PythonScript& script) {
  const std::string chosen = environment(script.variable);
  if (!chosen.empty()) {
    if (!is_file(chosen))
      throw UnavailableError(
          concat(script.variable, " names ", printable_excerpt(chosen), ", which cannot be read"));
    return chosen;
  }
  // A build folder links to the scripts of the source tree, where an installation has copies.
  const std::string beside = code_folder() + "/../share/lenslet/" + script.path;
  if (is_file(beside)) return beside;
  throw UnavailableError(concat(script.purpose, "'s script is not there (", printable_excerpt(beside),
                                "): install it with the program, or set ", script.variable, " to ",
                                script.source, " of a checkout"));
}

struct Finished {
  int status = kNotFound;  // exit status; 128 + signal if a signal ended it
  std::string last_words;  // its standard error
};

// A pipe that closes on exec and in its destructor.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0)
      throw UnavailableError(concat("no pipe to a script: ", std::strerror(errno)));
  }
  ~Pipe() {
    close_write();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_write() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Uses no shell, so file names need no quoting. Unless the child `prints` a result, its standard output is redirected
// to standard error, because the caller's may be a machine-readable file.
Finished run_command(const std::vector<std::string>& command, bool prints) {
  Pipe errors;
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) throw MemoryError("no memory to start a script");
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!prints) ::posix_spawn_file_actions_adddup2(&actions, errors.write_end(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.write_end(), STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));  // exec's old signature
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failure = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  Finished finished;
  if (failure != 0) {
    finished.last_words = std::strerror(failure);
    return finished;
  }
  errors.close_write();
  char text[4096];
  for (;;) {
    const ssize_t length = ::read(errors.read_end(), text, sizeof text);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    finished.last_words.append(text, static_cast<size_t>(length));
    if (finished.last_words.size() > 2 * kMaxWords)
      finished.last_words.erase(0, finished.last_words.size() - kMaxWords);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

// The last line has the cause, both in our messages and in Python's tracebacks.
std::string last_line(const std::string& text, const std::string& own) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "no message";
  const size_t begin = text.rfind('\n', end);
  std::string line = printable(text.substr(begin + 1, end - begin));
  return line.rfind(own, 0) == 0 ? line.substr(own.size()) : line;
}

}  // namespace

// Runs the script with the first interpreter that has what it needs.
void PythonScript::run(const std::vector<std::string>& arguments, bool prints) const {
  const std::string script = find_script(*this);
  const std::string chosen = environment("LENSLET_PYTHON");
  const std::vector<std::string> interpreters = chosen.empty()
                                                    ? std::vector<std::string>{"python3", "/usr/bin/python3"}
                                                    : std::vector<std::string>{chosen};
  Finished finished;
  std::string ran;  // the interpreter that `finished` is of
  for (const std::string& python : interpreters) {
    std::vector<std::string> command = {python, script};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished attempt = run_command(command, prints);
    // The message of an interpreter that ran explains more than that of a missing one.
    if (attempt.status != kNotFound || finished.last_words.empty()) {
      finished = attempt;
      ran = python;
    }
    if (attempt.status != kNotFound && attempt.status != static_cast<int>(ExitCode::kUnavailable)) break;
  }
  const std::string words = last_line(finished.last_words, prefix);
  switch (finished.status) {
    case static_cast<int>(ExitCode::kOk):
      return;
    case kNotFound:
      throw UnavailableError(concat(purpose, " needs Python, and ", interpreters[0], " cannot be started (",
                                    words, "): ", remedy));
    case static_cast<int>(ExitCode::kUnavailable):
      throw UnavailableError(words);
    case static_cast<int>(ExitCode::kUsage):
      throw UsageError(words);
    case static_cast<int>(ExitCode::kData):
      throw DataError(words);
    case static_cast<int>(ExitCode::kOutput):
      throw OutputError(words);
    case static_cast<int>(ExitCode::kInterrupted):  // Ctrl-C reaches the script too
      throw InterruptedError(concat(purpose, " was interrupted and ended without ", product));
    default:
      throw OutputError(concat(purpose, "'s script, run by ", printable_excerpt(ran), ", ended with ",
                               finished.status, " and without ", product, ": ", words));
  }
}

}  // namespace lenslet
