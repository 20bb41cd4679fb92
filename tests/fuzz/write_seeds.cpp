// write_seeds FOLDER: the seeds of every target as files, FOLDER/<target>/seed_<number>.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  for (const lenslet::fuzz::Target& target : lenslet::fuzz::targets()) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const lenslet::fuzz::Bytes& seed : target.seeds()) {
      const std::filesystem::path path = folder / ("seed_" + std::to_string(number++));
      std::ofstream file(path, std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
      file.close();
      if (!file) throw std::runtime_error("cannot write " + path.string());
    }
    std::printf("%s: %d seeds\n", target.name, number);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "write_seeds: %s\n", error.what());
  return 1;
}
