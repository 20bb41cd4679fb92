#include "python/src/errors.h"

#include <nanobind/nanobind.h>

#include <string>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

const char* class_of(ExitCode code) {
  switch (code) {
    case ExitCode::kUsage:
      return "UsageError";
    case ExitCode::kData:
      return "DataError";
    case ExitCode::kUnavailable:
      return "UnavailableError";
    case ExitCode::kDevice:
      return "DeviceError";
    case ExitCode::kMemory:
      return "OutOfMemoryError";
    default:
      return "Error";
  }
}

}  // namespace

void register_errors() {
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          const nb::object type = nb::module_::import_("lenslet._types").attr(class_of(error.exit_code()));
          const std::string line = printable_line(error.what());
          const nb::object message = nb::steal(PyUnicode_DecodeFSDefault(line.c_str()));
          if (message.is_valid()) PyErr_SetObject(type.ptr(), message.ptr());
        }
      },
      nullptr);
}

}  // namespace lenslet::python
