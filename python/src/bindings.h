// The parts of the extension, each added by its own file.
#pragma once

#include <nanobind/nanobind.h>

namespace lenslet::python {

void add_model(nanobind::module_& module);
void add_backends(nanobind::module_& module);

}  // namespace lenslet::python
