// Pictures from Python, and what a model reads in them.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/shared_model.h"

namespace lenslet::python {

/// What Model.read and Model.show take: the path of a file, the bytes of one, an array of pixels or a picture of
/// Pillow. Throws TypeError, ValueError or DataError.
NamedPicture picture_from(nanobind::handle picture);

/// Model.read.
nanobind::object reading_of(SharedModel& self, nanobind::handle given);

}  // namespace lenslet::python
