// Errors of the library as exceptions of the package.
#pragma once

namespace lenslet::python {

/// From now on an Error reaches Python as the class of lenslet/_types.py that belongs to its exit code, with its
/// message.
void register_errors();

}  // namespace lenslet::python
