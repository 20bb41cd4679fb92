// The message for an output file that cannot be written.
#pragma once

#include <string>

namespace lenslet {

/// "x/y.json: cannot be written: No such file or directory; found no folder x: create it, or give another name": what
/// failed with that errno, what was found, and where there is a remedy, what to do. `path`: not resolved.
std::string unwritable(const std::string& path, int error);

}  // namespace lenslet
