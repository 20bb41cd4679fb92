// lenslet: classify digits, evaluate MNIST, profile layers, list backends, check the machine.
#include "apps/common/program/program.h"
#include "apps/lenslet/cli.h"

int main(int argc, char** argv) {
  return lenslet::program_main("lenslet", "try a smaller --batch-size", argc, argv,
                               [](int count, const char* const* words) {
                                 return lenslet::lenslet_command_line().parse(count, words);
                               });
}
