// lenslet: classify digits, evaluate MNIST, profile layers, list backends, check the machine.
#include "apps/common/program.h"
#include "apps/lenslet/cli.h"

int main(int argc, char** argv) {
  return lenslet::run_program("lenslet", "try a smaller --batch-size", argc, argv,
                              lenslet::parse_command_line);
}
