// lenslet eval on a folder of pictures for each class, and on arrays of NumPy.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "layers/softmax/softmax_error.h"
#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A picture of one colour.
std::string picture(int red, int green, int blue) {
  std::string bytes = "P6\n3 2\n255\n";
  for (int i = 0; i < 6; ++i)
    for (const int value : {red, green, blue}) bytes += static_cast<char>(value);
  return bytes;
}

// A network whose logits are the means of its three channels, so that its class is the picture's colour.
class EvalSamples : public testing::Test {
 protected:
  void SetUp() override {
    write_file("{dir}/out/colours.onnx", onnx::model_of(onnx::channel_means()).bytes());
    for (const auto& [folder, red, green, blue] :
         {std::tuple("blue", 10, 20, 200), {"green", 10, 200, 20}, {"red", 200, 10, 20}})
      write_file(std::string("{dir}/out/colours/") + folder + "/1.ppm", picture(red, green, blue));
    write_file("{dir}/out/colours/green/2.ppm", picture(90, 80, 10));  // looks red
    write_file("{dir}/out/colours/green/notes.txt", "no picture");
    write_file("{dir}/out/colours.txt", "red\ngreen\nblue\n");
  }
  static std::string command(const std::string& rest) {
    return "lenslet eval --device cpu --model {dir}/out/colours.onnx --data {dir}/out/" + rest;
  }
  static json result_of(const std::string& rest) {
    return parse_json(expect_run(run_line(command(rest) + " --json -"), kOk).out);
  }
};

TEST_F(EvalSamples, CountsAFolderOfPicturesForEachClass) {
  const json result = result_of("colours --labels {dir}/out/colours.txt --misses {dir}/out/misses.csv");
  EXPECT_EQ(result.at("count"), 4);
  EXPECT_EQ(result.at("correct"), 3);
  EXPECT_EQ(result.at("accuracy"), 0.75);
  ASSERT_EQ(result.at("classes").size(), 3u);
  EXPECT_EQ(result.at("classes").at(1),
            (json{{"class", "green"}, {"count", 2}, {"correct", 1}, {"read_as", "red 1"}}));
  ASSERT_EQ(result.at("misses").size(), 1u);
  const json& miss = result.at("misses").at(0);
  EXPECT_EQ(fs::path(miss.at("sample").get<std::string>()).filename(), "2.ppm");
  EXPECT_EQ(miss.at("predicted"), "red");
  const double logits[] = {90 / 255.0, 80 / 255.0, 10 / 255.0};
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  EXPECT_NEAR(miss.at("probability").get<double>(), std::exp(logits[0]) / sum, kSoftmaxError);
  EXPECT_TRUE(fs::exists(expand("{dir}/out/misses.csv")));
  // Without names the folders stand in alphabetical order, which is that of no class here: blue, green, red.
  EXPECT_EQ(result_of("colours").at("correct"), 1);
  expect_run(
      run_line(command("colours")), kOk,
      "classes in the alphabetical order of their folders: blue, green, red; --labels FILE states another");
  EXPECT_EQ(result_of("colours --labels {dir}/out/colours.txt --limit 1").at("count"), 1);
}

TEST_F(EvalSamples, NumbersNameClassesToo) {
  write_file("{dir}/out/numbered/2/a.ppm", picture(0, 0, 255));
  write_file("{dir}/out/numbered/0/a.ppm", picture(255, 0, 0));
  const json result = result_of("numbered");
  EXPECT_EQ(result.at("count"), 2);
  EXPECT_EQ(result.at("correct"), 2);
  fs::create_directories(expand("{dir}/out/numbered/7"));
  fs::create_directories(expand("{dir}/out/numbered/9"));
  expect_run(
      run_line(command("numbered")), kData, "",
      "out/numbered: the folder 7 is no class of the network, which has the classes 0 to 2; remove it");
}

// As PyTorch's ImageFolder, which sorts names as text.
TEST_F(EvalSamples, NumbersThatAreNoClassesStandInAlphabeticalOrder) {
  for (const char* name : {"1", "2", "10"})
    write_file(std::string("{dir}/out/counted/") + name + "/a.ppm", picture(255, 0, 0));
  expect_run(run_line(command("counted")), kOk, "alphabetical order of their folders: 1, 10, 2;");
}

TEST_F(EvalSamples, ABinaryFileIsNoListOfLabels) {
  expect_run(run_line(command("colours --labels {source}/samples/digit_3_a.png")), kData, "",
             "digit_3_a.png: expected UTF-8 text with a line for each of the 3 classes|found a byte 0");
}

TEST_F(EvalSamples, EqualLabelsAreReported) {
  write_file("{dir}/out/twice.txt", "red\ngreen\nred\n");
  const ProgramRun run =
      expect_run(run_line("lenslet classify --device cpu --model {dir}/out/colours.onnx --labels "
                          "{dir}/out/twice.txt {dir}/out/colours/red/1.ppm"),
                 kOk);
  expect_words(run.err, "lines 1 and 3 are both \"red\"");
  write_file("{dir}/out/reds/red/1.ppm", picture(255, 0, 0));
  expect_run(run_line(command("reds --labels {dir}/out/twice.txt")), kData, "",
             "the folder red is two lines of|1 and 3");
}

TEST_F(EvalSamples, IndependentOutputsAreNoClasses) {
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 3, 2, 2})};
  parts.nodes = {onnx::node("GlobalAveragePool", {"x"}, "m", {}), onnx::node("Sigmoid", {"m"}, "s", {}),
                 onnx::node("Flatten", {"s"}, "y", {})};
  parts.outputs = {onnx::value("y", {-1, 3})};
  write_file("{dir}/out/several.onnx", onnx::model_of(parts, 13).bytes());
  const std::string model = "--device cpu --model {dir}/out/several.onnx ";
  expect_run(run_line("lenslet classify " + model + "{dir}/out/colours/red/1.ppm"), kData, "",
             "several.onnx: the network ends in Sigmoid|several classes may be true");
  expect_run(run_line("lenslet eval " + model + "--data {dir}/out/colours"), kData, "",
             "the network ends in Sigmoid");
  parts.nodes[1] = onnx::node("HardSigmoid", {"m"}, "s", {});
  write_file("{dir}/out/several.onnx", onnx::model_of(parts, 13).bytes());
  expect_run(run_line("lenslet classify " + model + "{dir}/out/colours/red/1.ppm"), kData, "",
             "ends in HardSigmoid|without the HardSigmoid");
  parts.inputs = {onnx::value("x", {-1, 1, 28, 28})};
  parts.initializers = {onnx::floats("w", {784, 10}, std::vector<float>(7840, 0.01f))};
  parts.nodes = {onnx::node("Flatten", {"x"}, "f", {}), onnx::node("MatMul", {"f", "w"}, "m", {}),
                 onnx::node("Sigmoid", {"m"}, "y", {})};
  parts.outputs = {onnx::value("y", {-1, 10})};
  write_file("{dir}/out/several_digits.onnx", onnx::model_of(parts, 13).bytes());
  expect_run(run_line("lenslet eval --device cpu --model {dir}/out/several_digits.onnx --data {dir}/data"),
             kData, "", "the network ends in Sigmoid");
}

TEST_F(EvalSamples, DigitsArePreparedAsMnists) {
  for (const char* digit : {"3", "7"})
    fs::create_directories(expand(std::string("{dir}/out/digits/") + digit));
  fs::copy(LENSLET_SOURCE_DIR "/samples/digit_3_a.png", expand("{dir}/out/digits/3/a.png"),
           fs::copy_options::overwrite_existing);
  fs::copy(LENSLET_SOURCE_DIR "/samples/digit_7_a.png", expand("{dir}/out/digits/7/a.png"),
           fs::copy_options::overwrite_existing);
  expect_run(run_line("lenslet eval --device cpu --data {dir}/out/digits"), kOk, "2 of 2 = 100.00 %");
}

TEST_F(EvalSamples, ReadsArraysOfValuesAndOfPixels) {
  std::vector<float> values;
  std::vector<uint8_t> pixels;
  const std::vector<int64_t> labels = {0, 1, 2, 2, 1};
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t shown = i == 3 ? 0 : labels[i];  // the fourth is wrong
    for (int64_t c = 0; c < 3; ++c) {
      for (int k = 0; k < 4; ++k) {
        values.push_back(c == shown ? 2.0f : -1.0f);
        pixels.push_back(c == shown ? 200 : 10);
      }
    }
  }
  write_file("{dir}/out/x.npy", npy("<f4", {5, 3, 2, 2}, values));
  write_file("{dir}/out/p.npy", npy("|u1", {5, 3, 2, 2}, pixels));
  write_file("{dir}/out/y.npy", npy("<i8", {5}, labels));
  for (const char* inputs : {"x.npy", "p.npy"})
    for (const char* batch : {"1", "3", "64"})
      EXPECT_EQ(
          result_of(std::string(inputs) + " --answers {dir}/out/y.npy --batch-size " + batch).at("correct"),
          4);
  NpzWriter set;
  set.add("inputs.npy", npy("<f4", {5, 12}, values)).add("labels.npy", npy("<i8", {5}, labels));
  set.write(expand("{dir}/out/set.npz"));
  EXPECT_EQ(result_of("set.npz").at("correct"), 4);
  NpzWriter column;
  column.add("inputs.npy", npy("<f4", {5, 12}, values)).add("labels.npy", npy("<i8", {5, 1}, labels));
  column.write(expand("{dir}/out/column.npz"));
  EXPECT_EQ(result_of("column.npz").at("correct"), 4);
  expect_run(run_line(command("set.npz --answers {dir}/out/y.npy")), kUsage, "", "--answers belongs to");
  NpzWriter wrong;
  wrong.add("x.npy", npy("<f4", {5, 12}, values)).write(expand("{dir}/out/wrong.npz"));
  expect_run(run_line(command("wrong.npz")), kData, "",
             "the arrays inputs and labels|numpy.savez(\"set.npz\", ");
  // A mean by channel changes the class of pixels; values of the network have none.
  const std::string dark = " --answers {dir}/out/y.npy --mean 0,0,-5";
  EXPECT_EQ(result_of("p.npy" + dark).at("correct"), 2);
  expect_run(run_line(command("x.npy" + dark)), kUsage, "", "--mean and --std are for pixels");
  expect_run(run_line(command("x.npy --answers {dir}/out/y.npy --min-accuracy 0.9")), kCheckFailed, "",
             "accuracy 0.800000 is below");
  expect_run(run_line(command("x.npy")), kUsage, "", "needs the labels by --answers FILE.npy");
  write_file("{dir}/out/short.npy", npy("<i8", {4}, std::vector<int64_t>{0, 1, 2, 2}));
  expect_run(run_line(command("x.npy --answers {dir}/out/short.npy")), kData, "", "expected 5 whole numbers");
  write_file("{dir}/out/one_hot.npy", npy("<i8", {5, 3}, std::vector<int64_t>(15)));
  expect_run(run_line(command("x.npy --answers {dir}/out/one_hot.npy")), kData, "",
             "expected 5 whole numbers");
  write_file("{dir}/out/large.npy", npy("<i8", {5}, std::vector<int64_t>{0, 1, 2, 3, 1}));
  expect_run(run_line(command("x.npy --answers {dir}/out/large.npy")), kData, "",
             "label 3 at index 3|0 to 2");
  write_file("{dir}/out/other.npy", npy("<f4", {5, 2, 2, 3}, values));
  expect_run(run_line(command("other.npy --answers {dir}/out/y.npy")), kData, "",
             "Nx3x2x2|5x2x2x3 of float32");
}

// Left out silently, a class would make the accuracy that of the others.
TEST_F(EvalSamples, NoClassIsLeftOut) {
  write_file("{dir}/out/lacking/0/a.ppm", picture(255, 0, 0));
  expect_run(run_line(command("lacking")), kOk, "1 of 1 = 100.00 %");
  fs::create_directories(expand("{dir}/out/lacking/1"));
  expect_run(run_line(command("lacking")), kData, "", "lacking/1: no picture in this folder (.png");
  write_file("{dir}/out/lacking/1/notes.txt", "no picture");
  expect_run(run_line(command("lacking")), kData, "", "lacking/1: no picture in this folder (.png");
  write_file("{dir}/out/lacking/1/a.ppm", picture(0, 255, 0));
  const std::string link = expand("{dir}/out/lacking/2");
  fs::remove(link);
  fs::create_directory_symlink("2", link);  // to itself
  expect_run(
      run_line(command("lacking")), kData, "",
      "lacking/2: cannot read its type; each folder may be a class: Too many levels of symbolic links");
  fs::remove(link);
  expect_run(run_line(command("lacking")), kOk, "2 of 2 = 100.00 %");
}

TEST_F(EvalSamples, RefusesWhatDoesNotFit) {
  fs::remove_all(expand("{dir}/out/two"));
  write_file("{dir}/out/two/red/a.ppm", picture(1, 2, 3));
  write_file("{dir}/out/two/blue/a.ppm", picture(1, 2, 3));
  expect_run(run_line(command("two")), kData, "", "3 classes|found 2|--labels");
  write_file("{dir}/out/two/pink/a.ppm", picture(1, 2, 3));
  expect_run(run_line(command("two --labels {dir}/out/colours.txt")), kData, "",
             "the folder pink is no line of |colours.txt");
  write_file("{dir}/out/bad/0/a.ppm", "P6\n3 2\n255\n");
  expect_run(run_line(command("bad")), kData, "", "bad/0/a.ppm: PNM: truncated: 0 of 18 bytes");
  expect_run(run_line(command("colours --contact-sheet {dir}/out/s.png")), kUsage, "",
             "--contact-sheet are for networks that read digits, on IDX files");
  expect_run(run_line("lenslet eval --device cpu --model {dir}/out/colours.onnx --data {dir}/data"), kData,
             "", "reads 3x2x2, and IDX files have samples of one channel; give a folder per class");
  expect_run(run_line(command("colours --split train")), kUsage, "",
             "--split chooses one of the halves of IDX files");
  for (const char* name : {"none", "colours.txt", "colours/red"})
    expect_run(run_line(command(name)), kData, "",
               "expected a folder with a folder for each class or with IDX files");
}

// Means over the rows of a grey picture of four rows: its class is its brightest row.
TEST_F(EvalSamples, ReadsIdxFilesOfOtherPicturesThanDigits) {
  const auto big_endian = [](std::initializer_list<int> dims) {
    std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
    for (const int dim : dims) bytes += {0, 0, 0, static_cast<char>(dim)};
    return bytes;
  };
  const std::string pixels = std::string{90, 80, 10, 20, 0, 0, 0, 0} +  // the brightest row is 0
                             std::string{1, 2, 60, 70, 9, 9, 5, 5} +    // 1
                             std::string{0, 0, 30, 40, 50, 60, 7, 7};   // 2
  write_file("{dir}/out/rows/train-images-idx3-ubyte", big_endian({3, 4, 2}) + pixels);
  write_file("{dir}/out/rows/train-labels-idx1-ubyte", big_endian({3}) + std::string({0, 1, 1}));
  write_file("{dir}/out/rows.txt", "red\ngreen\nblue\ngrey\n");
  for (const std::vector<int64_t>& sample : {std::vector<int64_t>{1, 4, 2}, {4, 2, 1}, {4, 2}}) {
    SCOPED_TRACE(testing::Message() << sample.size() << " dimensions, first " << sample[0]);
    std::vector<int64_t> dims = {-1};
    dims.insert(dims.end(), sample.begin(), sample.end());
    onnx::GraphParts parts;
    parts.inputs = {onnx::value("x", dims)};
    parts.nodes = {
        onnx::node("Reshape", {"x", "rows"}, "r", {}),
        onnx::node("ReduceMean", {"r"}, "y",
                   {onnx::attribute("axes", std::vector<int64_t>{2}), onnx::attribute("keepdims", 0)})};
    parts.initializers = {onnx::int64s("rows", {0, 4, 2})};
    parts.outputs = {onnx::value("y", {-1, 4})};
    write_file("{dir}/out/rows.onnx", onnx::model_of(parts, 13).bytes());
    const std::string line = "lenslet eval --device cpu --model {dir}/out/rows.onnx --data {dir}/out/rows ";
    const json result = parse_json(
        expect_run(run_line(line + "--split train --labels {dir}/out/rows.txt --std 0.5 --json -"), kOk).out);
    EXPECT_EQ(result.at("count"), 3);
    EXPECT_EQ(result.at("correct"), 2);
    EXPECT_EQ(result.at("misses").at(0).at("sample"), "images[2]");
    EXPECT_EQ(result.at("misses").at(0).at("predicted"), "blue");
    const double logits[] = {0, 70 / 255.0, 110 / 255.0, 14 / 255.0};  // means of two pixels, over 0.5
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    EXPECT_NEAR(result.at("misses").at(0).at("probability").get<double>(), std::exp(logits[2]) / sum,
                kSoftmaxError);
    expect_run(run_line(line), kData, "", "rows: expected one of t10k-images-idx3-ubyte");
  }
  for (const char* option : {"--size 8", "--keep-aspect"})
    expect_run(
        run_line(std::string("lenslet eval --device cpu --model {dir}/out/rows.onnx --data {dir}/out/rows ") +
                 "--split train " + option),
        kUsage, "", "--size, --channels and --keep-aspect are for folders of pictures");
  expect_run(
      run_line("lenslet eval --device cpu --model {dir}/out/rows.onnx --data {dir}/out/rows --split train "
               "--mean 0.1,0.2,0.3,0.4"),
      kUsage, "", "--mean|1 channels|found 4");
  write_file("{dir}/out/rows/train-labels-idx1-ubyte", big_endian({3}) + std::string({0, 1, 4}));
  expect_run(
      run_line("lenslet eval --device cpu --model {dir}/out/rows.onnx --data {dir}/out/rows --split train"),
      kData, "", "label 4 at index 2, expected 0 to 3");
  expect_run(
      run_line(
          "lenslet eval --device cpu --model {dir}/out/colours.onnx --split train --data {dir}/out/rows"),
      kData, "", "reads 3x2x2, and IDX files have samples of one channel");
}

}  // namespace
}  // namespace lenslet::test
