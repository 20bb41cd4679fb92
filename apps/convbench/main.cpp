// convbench: measures convolutions on every backend, and the published studies of the field on today's card.
#include "apps/common/program.h"
#include "apps/convbench/cli.h"

#ifdef __GLIBC__
#include <malloc.h>

#include <climits>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Inputs and outputs of hundreds of megabytes come and go with every problem: memory that went back to the system
  // would have to be zeroed again each time, which takes longer than filling it.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
  return lenslet::run_program("convbench", "try smaller sizes", argc, argv,
                              [](int count, const char* const* words) {
                                return lenslet::convbench_command_line().parse(count, words);
                              });
}
