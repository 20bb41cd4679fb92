// lenslet: classify digits, evaluate MNIST, profile layers, list backends, check the machine.
#include <exception>
#include <new>

#include "apps/common/environment.h"
#include "apps/common/output.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/cli.h"
#include "framework/error.h"

namespace {

void report(const char* what) noexcept {
  try {
    lenslet::write_standard_error("lenslet: error: " + lenslet::printable(what) + "\n");
  } catch (...) {  // out of memory while reporting
    lenslet::write_standard_error({});
  }
}

}  // namespace

int main(int argc, char** argv) {
  lenslet::ExitCode code = lenslet::ExitCode::kDevice;
  try {
    lenslet::prepare_standard_streams();
    lenslet::install_signal_handlers();
    lenslet::remember_command_line(argc, argv);
    code = lenslet::parse_command_line(argc, argv)();
  } catch (const lenslet::ClosedPipe& closed) {
    code = closed.exit_code();
  } catch (const lenslet::Error& error) {
    report(error.what());
    code = error.exit_code();
  } catch (const std::bad_alloc&) {
    report("out of memory; try a smaller --batch-size");
    code = lenslet::ExitCode::kMemory;
  } catch (const std::exception& error) {
    report(error.what());
  }
  return static_cast<int>(code);
}
