// Pictures from Python, and what a model reads in them.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/shared_model.h"

namespace lenslet::python {

/// Model.read.
nanobind::object read_picture(SharedModel& self, nanobind::handle picture);

}  // namespace lenslet::python
