#include "tests/convbench/bad_launch.h"

namespace lenslet {

void launch_too_many_threads(Stream&) {}

}  // namespace lenslet
