// convbench: measures convolutions on every backend, and the published studies of the field on today's card.
#include "apps/common/program.h"
#include "apps/convbench/cli.h"

int main(int argc, char** argv) {
  return lenslet::run_program("convbench", "try smaller sizes", argc, argv, lenslet::parse_convbench_line);
}
