// lenslet classify with a network that reads RGB pictures: normalisation by channel, aspect, labels.
#include <cmath>
#include <filesystem>

#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// A network whose logits are the means of its channels, and a picture of 6x2 pixels: red, green and blue pairs.
const std::string& channel_means() {
  static const std::string command = [] {
    write_file("{dir}/out/means.onnx", onnx::model_of(onnx::channel_means()).bytes());
    std::string picture = "P6\n6 2\n255\n";
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 6; ++x)
        for (int c = 0; c < 3; ++c) picture += static_cast<char>(c == x / 2 ? 204 : 51);
    write_file("{dir}/out/pairs.ppm", picture);
    return std::string("lenslet classify --device cpu --model {dir}/out/means.onnx {dir}/out/pairs.ppm ");
  }();
  return command;
}

json first_answer(const ProgramRun& run) { return parse_json(expect_run(run, kOk).out).at("results").at(0); }

json answer_with(const std::string& options) {
  return first_answer(run_line(channel_means() + options + " --json -"));
}

// The probabilities of classes 0 to 2.
std::vector<double> probabilities(const json& answer) {
  std::vector<double> found(3, NAN);
  for (const json& guess : answer.at("top")) found.at(guess.at("digit")) = guess.at("probability");
  return found;
}

// Fewer than ten roundings of values below 2, of a pixel, its normalisation and the sum of four: 1.2e-6, rounded up.
constexpr double kMeanError = 2e-6;

void expect_softmax(const json& answer, const std::vector<double>& logits) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  const std::vector<double> found = probabilities(answer);
  for (size_t i = 0; i < 3; ++i) {
    const double expected = std::exp(logits[i]) / sum;
    EXPECT_NEAR(found[i], expected, probability_bound(expected, kMeanError)) << i;
  }
}

TEST(PictureNetwork, EachChannelHasItsNormalisation) {
  const double mean = (204 + 51 + 51) / 3.0 / 255;  // of each channel of the stretched picture
  expect_softmax(answer_with(""), {mean, mean, mean});
  expect_softmax(answer_with("--mean 0.1 --std 0.5"), {mean, mean, mean});
  expect_softmax(answer_with("--mean 0.1,0.2,0.4 --std 0.25,0.5,2"),
                 {(mean - 0.1) / 0.25, (mean - 0.2) / 0.5, (mean - 0.4) / 2});
}

TEST(PictureNetwork, KeepsTheAspectByTheMiddle) {
  expect_softmax(answer_with("--keep-aspect"), {0.2, 0.8, 0.2});
}

// The shorter side, 2 rows, becomes 3 pixels: the middle 2x2 of 9x3 pixels lies in the green pair.
TEST(PictureNetwork, ScalesToASizeAndCutsTheMiddle) {
  expect_softmax(answer_with("--size 3"), {0.2, 0.8, 0.2});
  expect_softmax(answer_with("--size 2"), {0.2, 0.8, 0.2});
  expect_run(run_line(channel_means() + "--size 1"), kUsage, "", "--size|at least the 2 pixels|found 1");
  expect_run(run_line(channel_means() + "--size 3 --keep-aspect"), kUsage, "", "--size and --keep-aspect");
}

TEST(PictureNetwork, ReadsColoursInEitherOrder) {
  (void)channel_means();
  std::string picture = "P6\n2 2\n255\n";
  for (int i = 0; i < 4; ++i) picture += "\xff\x33\x66";
  write_file("{dir}/out/pink.ppm", picture);
  const auto answer = [](const std::string& options) {
    return parse_json(expect_run(run_line("lenslet classify --device cpu --model {dir}/out/means.onnx "
                                          "{dir}/out/pink.ppm --json - " +
                                          options),
                                 kOk)
                          .out)
        .at("results")
        .at(0);
  };
  expect_softmax(answer(""), {1, 0.2, 0.4});
  expect_softmax(answer("--channels rgb"), {1, 0.2, 0.4});
  expect_softmax(answer("--channels bgr"), {0.4, 0.2, 1});
  expect_softmax(answer("--channels bgr --mean 0.4,0,0"), {0, 0.2, 1});
}

TEST(PictureNetwork, MetadataMayListTheChannels) {
  (void)channel_means();
  const auto with = [&](const std::string& mean, const std::string& std) {
    onnx::Message model = onnx::model_of(onnx::channel_means());
    model.metadata("mean", mean);
    model.metadata("std", std);
    write_file("{dir}/out/stated.onnx", model.bytes());
    return run_line(
        "lenslet classify --device cpu --model {dir}/out/stated.onnx {dir}/out/pairs.ppm --json - ");
  };
  const double mean = (204 + 51 + 51) / 3.0 / 255;
  const auto first = [](const ProgramRun& run) { return parse_json(run.out).at("results").at(0); };
  expect_softmax(first(expect_run(with("0.1,0.2,0.4", "0.25,0.5,2"), kOk)),
                 {(mean - 0.1) / 0.25, (mean - 0.2) / 0.5, (mean - 0.4) / 2});
  expect_softmax(first(expect_run(with("0.1,0.2,0.4", "0.5"), kOk)),
                 {(mean - 0.1) / 0.5, (mean - 0.2) / 0.5, (mean - 0.4) / 0.5});
  expect_run(with("0.1,0.2", "0.5"), kData, "", "mean|one for each of its 3 channels");
  expect_run(with("0.1,0.2,x", "0.5"), kData, "", "mean|decimal number");
}

TEST(PictureNetwork, NamesTheClasses) {
  write_file("{dir}/out/labels.txt", "\xEF\xBB\xBFred\r\ngreen apple\nblue");
  expect_run(run_line(channel_means() + "--keep-aspect --std 0.1 --labels {dir}/out/labels.txt"), kOk,
             "green apple  99.5|then red 0.2");
  EXPECT_EQ(answer_with("--keep-aspect --labels {dir}/out/labels.txt").at("top").at(0).at("label"),
            "green apple");
  write_file("{dir}/out/two.txt", "red\ngreen\n");
  expect_run(run_line(channel_means() + "--labels {dir}/out/two.txt"), kData, "", "3 classes|found 2");
  expect_run(run_line(channel_means() + "--labels {dir}/out/none.txt"), kData, "",
             "none.txt: cannot be opened");
}

// Ten windows of 28x10 pixels, of which only the last sees the last column: no digit, and the brightest of the windows.
TEST(PictureNetwork, LabelsMakePicturesOfTenClassesNoDigits) {
  using onnx::attribute;
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 1, 28, 28})};
  parts.nodes = {onnx::node("MaxPool", {"x"}, "m",
                            {attribute("kernel_shape", std::vector<int64_t>{28, 10}),
                             attribute("strides", std::vector<int64_t>{28, 2})}),
                 onnx::node("Flatten", {"m"}, "y", {})};
  parts.outputs = {onnx::value("y", {-1, 10})};
  write_file("{dir}/out/windows.onnx", onnx::model_of(parts, 13).bytes());
  std::string picture = "P5\n28 28\n255\n", names;
  for (int i = 0; i < 28 * 28; ++i) picture += i % 28 == 27 ? '\xff' : '\0';
  for (int i = 0; i < 10; ++i) names += "garment " + std::to_string(i) + "\n";
  write_file("{dir}/out/edge.pgm", picture);
  write_file("{dir}/out/garments.txt", names);
  const std::string labels = " --labels {dir}/out/garments.txt";
  const std::string line = "{classify} {dir}/out/edge.pgm --json - --model ";
  EXPECT_EQ(first_answer(run_line(line + "{dir}/out/windows.onnx" + labels)).at("top").at(0).at("label"),
            "garment 9");
  EXPECT_NE(first_answer(run_line(line + "{dir}/out/windows.onnx")).at("digit"), 9) << "a digit is centred";
  expect_words(first_answer(run_line(line + "{dir}/m/lenet5.onnx" + labels)).at("top").at(0).at("label"),
               "garment ");
  write_file("{dir}/out/nine.txt", names.substr(names.find('\n') + 1));
  expect_run(run_line(line + "{dir}/m/lenet5.onnx --labels {dir}/out/nine.txt"), kData, "",
             "10 classes of the network, found 9");
  for (const char* number : {"0", "9"}) {
    const std::string folder = std::string("{dir}/out/garments/garment ") + number;
    std::filesystem::create_directories(expand(folder));
    write_file(folder + "/a.pgm", picture);
  }
  expect_run(run_line("{eval_of}/out/garments --model {dir}/out/windows.onnx" + labels), kOk, "1 of 2");
  expect_run(run_line("{eval_of}/data --model {dir}/out/windows.onnx" + labels), kOk, "of 20|garment 9");
}

TEST(PictureNetwork, OptionsThatDoNotFitAreRefused) {
  expect_run(run_line(channel_means() + "--mean 0.1,0.2"), kUsage, "", "--mean|3 channels|found 2");
  expect_run(run_line(channel_means() + "--std 0"), kUsage, "", "--std expects a number from 0.000001");
  const std::string digit = "{classify} " LENSLET_SOURCE_DIR "/samples/digit_3_a.png ",
                    onnx = " --model {dir}/m/lenet5.onnx";
  for (const std::string option :
       {"--keep-aspect", "--size 30", "--channels bgr", "--labels {dir}/out/two.txt"}) {
    expect_run(run_line(digit + option), kUsage, "", "reads digits");
    if (option.find("--labels") == std::string::npos)
      expect_run(run_line(digit + option + onnx), kUsage, "", "reads digits");
  }
  for (const std::string option : {"--mean 0.5", "--std 0.5"})
    expect_run(run_line(digit + option), kUsage, "", "are for ONNX networks|a weights file states its own");
  expect_run(run_line(digit + "--mean 0.1,0.2" + onnx), kUsage, "", "--mean|1 channels|found 2");
}

// The zoo's network reads pixels / 255, which its file does not state.
TEST(PictureNetwork, DigitsOfANetworkMayHaveAnotherNormalisation) {
  const auto answer = [](const std::string& options) {
    return first_answer(run_line("lenslet classify --device cpu --json - " LENSLET_SOURCE_DIR
                                 "/samples/digit_3_a.png --model " +
                                 options));
  };
  const std::string zoo = LENSLET_SOURCE_DIR "/tests/models/onnx/zoo/mnist_8.onnx",
                    lenet5 = "{dir}/m/lenet5.onnx";
  for (const std::string& model : {zoo, lenet5}) {
    const json usual = answer(model);
    EXPECT_EQ(answer(model + " --mean 0.1307 --std 0.3081"), usual) << "MNIST's";
    EXPECT_EQ(answer(model + " --mean 0.1307"), usual) << "the other is the file's";
    EXPECT_NE(answer(model + " --mean 0 --std 1"), usual);
  }
  EXPECT_EQ(answer(zoo + " --mean 0 --std 1").at("digit"), 3);
  expect_run(run_line("{model}/lenet5.onnx --mean 2"), kUsage, "", "from 0 to 1|found 2");
  expect_run(run_line("{model}/lenet5.onnx --std 20"), kUsage, "", "from 0.001 to 10|found 0.1307 and 20");
}

// The file is the same with the numbers as metadata.
TEST(PictureNetwork, StatedNumbersAreThoseOfMetadata) {
  std::string bytes = read_text(LENSLET_SOURCE_DIR "/tests/models/onnx/lenet5.onnx");
  bytes += onnx::Message().metadata("mean", "0.25").bytes();
  bytes += onnx::Message().metadata("std", "0.5").bytes();
  write_file("{dir}/out/stated_digits.onnx", bytes);
  const std::string line =
      "lenslet classify --device cpu --json - " LENSLET_SOURCE_DIR "/samples/digit_7_a.png --model ";
  EXPECT_EQ(first_answer(run_line(line + "{dir}/out/stated_digits.onnx")),
            first_answer(run_line(line + "{dir}/m/lenet5.onnx --mean 0.25 --std 0.5")));
}

}  // namespace
}  // namespace lenslet::test
