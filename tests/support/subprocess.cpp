#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <stdexcept>

namespace lenslet::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    read = ends[0];
    write = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(read); }
  void close_write() { close_end(write); }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// A pseudo-terminal, if requested.
struct Terminal {
  std::string name;
  int controller = -1;
  explicit Terminal(bool wanted) {
    if (!wanted) return;
    controller = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (controller < 0 || ::grantpt(controller) != 0 || ::unlockpt(controller) != 0) {
      throw std::runtime_error("no pseudo terminal");
    }
    name = ::ptsname(controller);
  }
  ~Terminal() {
    if (controller >= 0) ::close(controller);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
};

// Only calls that are safe between fork and exec.
[[noreturn]] void become(const std::string& program, const std::vector<char*>& arguments,
                         const std::string& terminal, const ProgramOptions& options, Pipe& in, Pipe& out,
                         Pipe& err) {
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(126);
  ::dup2(in.read, STDIN_FILENO);
  if (!terminal.empty()) ::dup2(::open(terminal.c_str(), O_RDWR | O_NOCTTY), STDIN_FILENO);
  if (options.inherit_nothing_on_stdin) ::close(STDIN_FILENO);
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // huge pages would add megabytes to max_rss_kib on some systems
  if (options.read_after_s > 0) ::fcntl(out.write, F_SETFL, O_NONBLOCK);
  if (!options.append_output_to.empty()) {
    out.write = ::open(options.append_output_to.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (out.write < 0) ::_exit(126);
  }
  switch (options.output) {
    case ProgramOptions::Output::kClosed:
      ::close(STDOUT_FILENO);
      break;
    case ProgramOptions::Output::kFull:
      ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
      break;
    default:
      ::dup2(out.write, STDOUT_FILENO);
  }
  ::dup2(err.write, STDERR_FILENO);
  if (options.drop_file_rights && ::geteuid() == 0 &&
      (::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) != 0 ||
       ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) != 0)) {
    ::_exit(ProgramRun::kNoRights);
  }
  for (const auto& [which, bytes] : options.limits) {
    const rlimit limit = {bytes, bytes};
    ::setrlimit(static_cast<decltype(RLIMIT_AS)>(which), &limit);
  }
  for (const std::string& name : options.unset) ::unsetenv(name.c_str());
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv(program.c_str(), arguments.data());
  ::_exit(127);
}

// False at the end of the stream.
bool drain(int descriptor, std::string& text) {
  char buffer[65536];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  if (got > 0) text.append(buffer, static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

}  // namespace

std::function<bool(const ProgramRun&, pid_t)> after_printing(const std::string& text, double seconds) {
  return [text, seconds, printed = std::optional<Clock::time_point>()](const ProgramRun& run, pid_t) mutable {
    if (!printed && (run.out + run.err).find(text) != std::string::npos) printed = Clock::now();
    return printed && seconds_since(*printed) >= seconds;
  };
}

ProgramRun run_program(const std::vector<std::string>& command, const ProgramOptions& options) {
  std::vector<std::string> copy = command;
  if (!options.started_as.empty()) copy[0] = options.started_as;
  std::vector<char*> arguments;
  for (std::string& argument : copy) arguments.push_back(argument.data());
  arguments.push_back(nullptr);

  std::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  const Terminal terminal(options.terminal_on_stdin);
  const Clock::time_point start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) std::signal(signal, SIG_DFL);
    for (const int signal : options.ignored_signals) std::signal(signal, SIG_IGN);
    become(command[0], arguments, terminal.name, options, in, out, err);
  }
  in.close_read();
  out.close_write();
  err.close_write();
  ::fcntl(in.write, F_SETFL, O_NONBLOCK);

  ProgramRun run;
  size_t sent = 0;
  bool interrupted = false;
  while (out.read >= 0 || err.read >= 0) {
    if (sent == options.standard_input.size() && !options.keep_stdin_open) in.close_write();
    const bool more = sent < options.standard_input.size();
    const bool reading = seconds_since(start) >= options.read_after_s;
    pollfd waiting[3] = {
        {reading ? out.read : -1, POLLIN, 0}, {err.read, POLLIN, 0}, {more ? in.write : -1, POLLOUT, 0}};
    ::poll(waiting, 3, 20);
    if (out.read >= 0 && waiting[0].revents != 0 && !drain(out.read, run.out)) out.close_read();
    if (err.read >= 0 && waiting[1].revents != 0 && !drain(err.read, run.err)) err.close_read();
    if (more && in.write >= 0 && waiting[2].revents != 0) {
      const ssize_t put =
          ::write(in.write, options.standard_input.data() + sent, options.standard_input.size() - sent);
      if (put > 0) sent += static_cast<size_t>(put);
      if (put < 0 && errno != EAGAIN && errno != EINTR) in.close_write();
    }
    if (options.output == ProgramOptions::Output::kReadOneLineThenClose &&
        run.out.find('\n') != std::string::npos) {
      out.close_read();
    }
    const double elapsed = seconds_since(start);
    if (options.interrupt_when && !interrupted && options.interrupt_when(run, child)) {
      ::kill(child, SIGINT);
      interrupted = true;
    }
    if (elapsed > options.timeout_s) {
      ::kill(child, SIGKILL);
      run.timed_out = true;
      break;
    }
  }
  int status = 0;
  rusage usage = {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  run.seconds = seconds_since(start);
  run.max_rss_kib = usage.ru_maxrss;
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    run.cpu_seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  return run;
}

}  // namespace lenslet::test
