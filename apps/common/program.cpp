#include "apps/common/program.h"

#include <exception>
#include <new>

#include "apps/common/environment.h"
#include "apps/common/output.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

void report(const std::string& program, const std::string& what) noexcept {
  try {
    write_standard_error(program + ": error: " + printable(what) + "\n");
  } catch (...) {  // out of memory while reporting
    write_standard_error({});
  }
}

}  // namespace

int run_program(const std::string& name, const std::string& memory_hint, int argc, char** argv,
                const std::function<std::function<ExitCode()>(int, const char* const*)>& parse) noexcept {
  ExitCode code = ExitCode::kDevice;
  try {
    prepare_standard_streams();
    install_signal_handlers(name);
    stop_reading_when(interrupted);
    remember_command_line(argc, argv);
    code = parse(argc, argv)();
  } catch (const ClosedPipe& closed) {
    code = closed.exit_code();
  } catch (const InterruptedError& error) {
    code = error.exit_code();
  } catch (const Error& error) {
    report(name, error.what());
    code = error.exit_code();
  } catch (const std::bad_alloc&) {
    report(name, "out of memory; " + memory_hint);
    code = ExitCode::kMemory;
  } catch (const std::exception& error) {
    report(name, error.what());
  }
  if (code == ExitCode::kInterrupted) {
    write_standard_error(name + ": interrupted by " + interrupting_signal() +
                         ": every file that was written is whole\n");
  }
  return static_cast<int>(code);
}

}  // namespace lenslet
