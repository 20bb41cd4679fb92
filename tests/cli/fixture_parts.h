// The parts of the fixtures' folder (fixture_files.h), one function a subject.
#pragma once

#include <filesystem>
#include <string>

#include "tests/io/crafted_files.h"

namespace lenslet::test {

/// Makes the folders on the way as well.
void write_fixture(const std::filesystem::path& path, const Bytes& bytes);
/// Images of upright bars, 28x28: real enough to be classified, and no two alike.
Bytes bar_pixels(int count);

/// data/, gz/, many/ are right; every other folder has one thing wrong.
void write_data_sets(const std::filesystem::path& dir);
/// w/: safetensors and what people take for it. plans/: of --plan.
void write_weights(const std::filesystem::path& dir);
/// pics/, bits/, kinds/, large/, odd/ are right; bad/ and bombs/ are not.
void write_pictures(const std::filesystem::path& dir);
/// problems/, filters/, results/: what convbench reads; modules/, driver/: libraries that are none.
void write_bench_files(const std::filesystem::path& dir);

}  // namespace lenslet::test
