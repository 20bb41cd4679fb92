// Pages that show a model at work, for notebooks.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/shared_model.h"

namespace lenslet::python {

/// Model.show.
nanobind::object show_picture(SharedModel& self, nanobind::handle picture, int64_t batch,
                              const CallOptions& choices);

}  // namespace lenslet::python
