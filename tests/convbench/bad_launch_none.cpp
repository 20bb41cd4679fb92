// The cheating kernels in a build without the GPU side: they do nothing.
#include "tests/convbench/bad_launch.h"

namespace lenslet {

void launch_too_many_threads(Stream&) {}
bool is_captured(Stream&) { return false; }
void launch_lazy_conv(Stream&, const LazyConv&) {}

}  // namespace lenslet
