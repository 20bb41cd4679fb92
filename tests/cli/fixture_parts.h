// The parts of the fixtures' folder (fixture_files.h), one function per subject.
#pragma once

#include <filesystem>
#include <string>

#include "tests/io/crafted_files.h"

namespace lenslet::test {

/// Also creates the parent folders.
void write_fixture(const std::filesystem::path& path, const Bytes& bytes);
/// Images of upright bars, 28x28: similar enough to digits to be classified, and all different.
Bytes bar_pixels(int count);

/// data/, gz/, many/ are valid; every other folder has one fault.
void write_data_sets(const std::filesystem::path& dir);
/// w/: safetensors files and similar formats. plans/: files for --plan.
void write_weights(const std::filesystem::path& dir);
/// m/: ONNX files, each with one fault.
void write_models(const std::filesystem::path& dir);
/// pics/, bits/, kinds/, large/, odd/ are valid; bad/ and bombs/ are not.
void write_pictures(const std::filesystem::path& dir);
/// problems/, filters/, results/: files for convbench; modules/, driver/: invalid libraries.
void write_bench_files(const std::filesystem::path& dir);

}  // namespace lenslet::test
