#include "apps/common/program/program.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "apps/common/output/error_line.h"
#include "apps/common/output/output.h"
#include "apps/common/ranks/ranks.h"
#include "apps/common/system/environment.h"
#include "apps/common/system/signals.h"
#include "framework/base/interruption.h"
#include "framework/device/device_health.h"

namespace lenslet {
namespace {

std::string the_program;  // for messages from another thread

// With a hanging GPU a library's tear-down may never return, so the process would never end, although its files are
// written.
constexpr std::chrono::seconds kPatience(30);
void force_exit_later() {
  try {
    std::thread([] {
      std::this_thread::sleep_for(kPatience);
      write_error_line(the_program, {device_lost_reason()});
      std::_Exit(static_cast<int>(ExitCode::kDevice));
    }).detach();
  } catch (const std::system_error&) {
    // No thread could be started; the program still reports why the device was lost.
  }
}

// A wrong command line is the same for all processes that mpirun started: the first of each machine reports it.
std::function<ExitCode()> parsed(const Parse& parse, int argc, const char* const* argv) {
  try {
    return parse(argc, argv);
  } catch (const UsageError& error) {
    if (reports_before_joining()) throw;
    return [code = error.exit_code()] { return code; };
  }
}

}  // namespace

int program_main(const std::string& name, const std::string& memory_hint, int argc, char** argv,
                 const Parse& parse) noexcept {
  ExitCode code = ExitCode::kDevice;
  bool reported = false;  // an interruption, of another rank
  try {
    prepare_standard_streams();
    install_signal_handlers(name);
    stop_when(interrupted);
    remember_command_line(argc, argv);
    the_program = name;
    on_device_lost(force_exit_later);
    code = parsed(parse, argc, argv)();
  } catch (const ClosedPipe& closed) {
    code = closed.exit_code();
  } catch (const InterruptedError& error) {
    code = error.exit_code();
  } catch (const Error& error) {
    write_error_line(name, {error.what()});
    reported = true;
    code = error.exit_code();
  } catch (const std::bad_alloc&) {
    write_error_line(name, {"out of memory; ", memory_hint});
    code = ExitCode::kMemory;
  } catch (const std::exception& error) {
    write_error_line(name, {error.what()});
  }
  if (code == ExitCode::kInterrupted && !reported && first_of_machine()) {
    write_standard_error(name + ": interrupted by " + interrupting_signal() +
                         ": every file that was written is whole\n");
  }
  if (device_lost()) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));  // the runtime's tear-down would call the lost device or wait for it
  }
  return static_cast<int>(code);
}

}  // namespace lenslet
