#include "tests/faults/program_faults.h"

namespace lenslet::test {

const std::string& faults_folder() {
  constexpr uint32_t kDigits = 40, kSide = 28;
  static const TemporaryFolder folder;
  static const std::string path = [] {
    Bytes pixels(kDigits * kSide * kSide), labels(kDigits);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7919 % 256);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint8_t>(i % 10);
    folder.write("t10k-images-idx3-ubyte", idx({kDigits, kSide, kSide}, pixels));
    folder.write("t10k-labels-idx1-ubyte", idx({kDigits}, labels));
    return folder.path();
  }();
  return path;
}

ProgramRun run_with(const std::string& line, const std::map<std::string, std::string>& environment) {
  ProgramOptions options;
  options.environment = environment;
  options.folder = faults_folder();
  return run_words(line, {{"{dir}", faults_folder()}}, options);
}

nlohmann::json result_file(const std::string& name) { return read_json_file(faults_folder() + "/" + name); }

nlohmann::json marked_file(const std::string& name, const std::string& reason) {
  nlohmann::json document = result_file(name);
  EXPECT_EQ(document.at("status"), "ERROR");
  expect_words(document.at("reason"), reason);
  return document;
}

void expect_fault(const ProgramRun& run, const std::string& words) {
  expect_run(run, kDevice, "", words);
  EXPECT_EQ(count_lines(run.err), 1) << "not one line: " << run.err;
}

}  // namespace lenslet::test
