// Errors of the library as exceptions of the package.
#pragma once

namespace lenslet::python {

/// Makes every Error reach Python with its message, as the class of lenslet/_types.py for its exit code.
void register_errors();

}  // namespace lenslet::python
