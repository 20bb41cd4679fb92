// convbench: measures convolutions on every backend, and repeats published studies on today's GPU.
#include "apps/common/program/program.h"
#include "apps/convbench/cli.h"

#ifdef __GLIBC__
#include <malloc.h>

#include <climits>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Each problem allocates and frees hundreds of megabytes. Memory that returned to the system would be zeroed again at
  // the next allocation, which takes longer than filling it.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
  return lenslet::program_main("convbench", "try smaller sizes", argc, argv,
                               [](int count, const char* const* words) {
                                 return lenslet::convbench_command_line().parse(count, words);
                               });
}
