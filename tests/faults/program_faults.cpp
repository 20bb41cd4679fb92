#include "tests/faults/program_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/io/crafted_files.h"

namespace lenslet::test {

namespace {

constexpr uint32_t kDigits = 40, kSide = 28;

std::string expand(std::string text) {
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("{dir}", faults_folder()), {"{source}", LENSLET_SOURCE_DIR}}) {
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key)) {
      text.replace(at, key.size(), value);
    }
  }
  return text;
}

}  // namespace

const std::string& faults_folder() {
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
  std::istringstream words(line);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(expand(word));
  command[0] = command[0] == "convbench" ? LENSLET_CONVBENCH : LENSLET_PROGRAM;
  ProgramOptions options;
  options.environment = environment;
  options.unset = {"LENSLET_MNIST_DIR"};
  options.folder = faults_folder();
  return run_program(command, options);
}

nlohmann::json marked_file(const std::string& name, const std::string& reason) {
  std::ifstream file(faults_folder() + "/" + name);
  EXPECT_TRUE(file.good()) << name << " was not written";
  nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << name << " is not JSON";
    return {};
  }
  EXPECT_EQ(document.at("status"), "ERROR");
  EXPECT_NE(document.at("reason").get<std::string>().find(reason), std::string::npos)
      << document.at("reason").get<std::string>();
  return document;
}

void expect_fault(const ProgramRun& run, const std::vector<std::string>& fragments) {
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << "not one line: " << run.err;
  for (const std::string& fragment : fragments) {
    EXPECT_NE(run.err.find(fragment), std::string::npos) << "no '" << fragment << "' in: " << run.err;
  }
}

}  // namespace lenslet::test
