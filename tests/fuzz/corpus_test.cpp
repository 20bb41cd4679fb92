// Runs every fuzz target on its seeds and on the corpus in the tree, with any compiler: fixed findings stay fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>

#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"
#include "tests/support/test_names.h"

namespace lenslet::fuzz {

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(LENSLET_SOURCE_DIR) / "tests/fuzz/corpus";

class FuzzCorpus : public testing::TestWithParam<Target> {
 protected:
  void run(const Bytes& input, const std::string& name) {
    try {
      GetParam().run(input.data(), input.size());
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
};

TEST_P(FuzzCorpus, SeedsAreReadOrRefused) {
  const std::vector<Bytes> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i) run(seeds[i], "seed " + std::to_string(i));
  run({}, "nothing");
}

// Truncated anywhere, and with any one byte inverted.
TEST_P(FuzzCorpus, SeedsCutAndFlippedAreReadOrRefused) {
  // Tries for each kind and seed. Every byte of a picture is legal, and a command line takes milliseconds.
  const std::string name = GetParam().name;
  const size_t tries = name == "digit" ? 8 : name == "arguments" ? 24 : 64;
  const std::vector<Bytes> seeds = GetParam().seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    const size_t step = std::max<size_t>(1, seeds[i].size() / tries);
    for (size_t at = 0; at < seeds[i].size(); at += step) {
      run(Bytes(seeds[i].begin(), seeds[i].begin() + static_cast<std::ptrdiff_t>(at)),
          "seed " + std::to_string(i) + " cut at " + std::to_string(at));
      Bytes flipped = seeds[i];
      flipped[at] ^= 0x81;
      run(flipped, "seed " + std::to_string(i) + " changed at " + std::to_string(at));
    }
  }
}

// Up to four changes: a flipped bit, a replaced byte, a few bytes removed or inserted, the rest cut off.
void damage(Bytes& file, std::mt19937& random) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (size_t changes = 1 + below(4); changes > 0 && !file.empty(); --changes) {
    const size_t at = below(file.size());
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto byte = static_cast<uint8_t>(below(256));
    switch (below(6)) {
      case 0:
        file[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        file[at] = byte;
        break;
      case 2:
        file[at] = byte % 2 ? 0xff : 0;
        break;
      case 3:
        file.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(file.size() - at, 1 + below(8))));
        break;
      case 4:
        file.insert(begin, 1 + below(8), byte);
        break;
      default:
        file.resize(at);
    }
  }
}

// The generator's seed is fixed, so that failures repeat. Pictures are also tried with correct checksums.
TEST_P(FuzzCorpus, SeedsDamagedAtRandomAreReadOrRefused) {
  const std::string name = GetParam().name;
  // Runs of each seed; these two targets take milliseconds.
  const int runs = name == "digit" || name == "arguments" ? 20 : 1000;
  std::mt19937 random(1998);
  const std::vector<Bytes> seeds = GetParam().seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    for (int turn = 0; turn < runs; ++turn) {
      Bytes file = seeds[i];
      damage(file, random);
      const bool mended = name == "picture" && turn % 2 == 0;
      if (mended) test::mend_png_checksums(file.data(), file.size());
      run(file, "seed " + std::to_string(i) + " damaged, turn " + std::to_string(turn));
    }
  }
}

TEST_P(FuzzCorpus, FilesInTheTreeAreReadOrRefused) {
  const fs::path folder = kCorpus / GetParam().name;
  if (!fs::exists(folder)) GTEST_SKIP() << "no corpus in the tree for " << GetParam().name;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Bytes input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(file.bad()) << path;
    run(input, path.string());
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, FuzzCorpus, testing::ValuesIn(targets()), ByName());

TEST(FuzzTargets, EveryFolderOfTheCorpusHasItsTarget) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kCorpus)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(std::any_of(targets().begin(), targets().end(), [&](const Target& t) {
      return name == t.name;
    })) << name;
  }
}

// The harness itself: a broken promise, a message of two lines and one without the file name count as findings.
TEST(FuzzTargets, FindWhatTheyLookFor) {
  EXPECT_THROW(check(false, "anything"), Finding);
  EXPECT_THROW(accepts("", [] { throw DataError("two\nlines"); }), Finding);
  EXPECT_THROW(accepts("file", [] { throw DataError("something is wrong"); }), Finding);
  EXPECT_THROW(accepts("", [] { throw DataError(""); }), Finding);
  EXPECT_THROW(accepts("", [] { throw DataError(std::string(5000, 'x')); }), Finding);
  EXPECT_THROW(accepts("", [] { throw std::out_of_range("not ours"); }), std::out_of_range);
  EXPECT_FALSE(accepts("file", [] { throw DataError("file: refused"); }));
  EXPECT_TRUE(accepts("file", [] {}));
}

}  // namespace
}  // namespace lenslet::fuzz
