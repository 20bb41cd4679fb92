// Lists of convolution problems and result files for convbench, each with one fault.
#include "tests/cli/fixture_parts.h"
#include "tests/support/programs.h"

namespace lenslet::test {

void write_bench_files(const std::filesystem::path& dir) {
  write_fixture(dir / "problems/good.txt", bytes_of("mb1ic3ih16oc3kh3ph1\nmb1ic3ih24oc3kh3ph1\n"));
  write_fixture(dir / "problems/outer.txt", bytes_of("--batch=good.txt\n"));
  write_fixture(dir / "problems/empty.txt", bytes_of("# nothing\n"));
  write_fixture(dir / "problems/bad.txt", bytes_of("mb1ic3ih9oc3kh3\nmb1ic3ih9oc3kh33\n"));
  write_fixture(dir / "problems/bad_lines.txt", bytes_of("hello\nmb1ic3ih9oc3kh3\n--mb=two\n"));
  write_fixture(dir / "problems/binary.txt", Bytes(1000));
  write_fixture(dir / "problems/long.txt", Bytes(100000, 'm'));
  write_fixture(dir / "filters/text.txt", bytes_of("edges, please\n"));
  write_fixture(dir / "filters/even.txt", bytes_of("1 2\n3 4\n"));
  write_fixture(dir / "filters/ragged.txt", bytes_of("1 2 3\n4 5\n6 7 8\n"));
  write_fixture(dir / "filters/nan.txt", bytes_of("0 0 0\n0 nan 0\n0 0 0\n"));
  write_fixture(dir / "filters/comma.txt", bytes_of("0,1 0,1 0,1\n"));
  write_fixture(dir / "filters/scale.txt", bytes_of("scale 1/0\n0 0 0\n0 1 0\n0 0 0\n"));
  write_fixture(dir / "filters/empty.txt", {});
  write_fixture(dir / "filters/wide.txt", bytes_of(std::string(200000, '1') + "\n"));
  write_fixture(dir / "results/other.json", bytes_of("{\"schema\": \"something else\"}"));
  write_fixture(dir / "results/text.json", bytes_of("GFLOP/s: plenty"));
  write_fixture(dir / "results/empty.json", {});
  write_fixture(dir / "results/cut.json",
                bytes_of("{\"schema\": \"lenslet.results/1\", \"results\": [{\"prob"));
  write_fixture(dir / "results/deep.json", Bytes(100000, '['));
  nlohmann::json results =
      read_json_file(LENSLET_SOURCE_DIR "/tests/convbench/first_schema/profile_cpu.json");
  results.at("results").at(0).at("problem") = 3;
  write_fixture(dir / "results/types.json", bytes_of(results.dump()));
  results.at("results") = 7;
  write_fixture(dir / "results/no_rows.json", bytes_of(results.dump()));
  // Invalid files in the place of a library.
  for (const char* name : {"lenslet_conv_cpu_onednn.so", "lenslet_gemm_cpu_onednn.so"}) {
    write_fixture(dir / "modules" / name, bytes_of("\x7f"
                                                   "ELF, it says"));
  }
  std::filesystem::create_directories(dir / "no_modules");
  // The toolkit's stub, for linking without a driver, if there is a toolkit.
  std::filesystem::create_directories(dir / "stub_driver");
  if (std::filesystem::exists(LENSLET_STUB_DRIVER)) {
    std::filesystem::create_symlink(LENSLET_STUB_DRIVER, dir / "stub_driver/libcuda.so.1");
  }
  write_fixture(dir / "driver/libcuda.so.1", bytes_of("\x7f"
                                                      "ELF, it says"));
}

}  // namespace lenslet::test
