// Runs ONNX files for the tests that judge them in Python: a line "MODEL INPUT OUTPUT" on stdin, with tabs between,
// runs MODEL on the samples of INPUT, raw fp32, and writes OUTPUT; "ok N H W", the output's dimensions, or
// "refused REASON" answers it. A fourth field is the number of samples of a pass.
//   onnx_run_models DEVICE
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "api/model.h"
#include "framework/base/error.h"

namespace lenslet::test {
namespace {

// Returns the dimensions of what it wrote.
std::string run(const std::string& path, const std::string& input, const std::string& output,
                const ModelOptions& options) {
  Model model = Model::load(path, options);
  std::ifstream from(input, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
  const auto values = static_cast<int64_t>(bytes.size() / sizeof(float));
  const int64_t sample = model.input_shape().num_elements(), count = values / sample;
  if (count * sample != values || count < 1)
    throw UsageError(concat("an input of ", values, " values is no whole number of samples of ", sample));
  std::vector<float> y(static_cast<size_t>(count * model.output_shape().num_elements()));
  model.run(reinterpret_cast<const float*>(bytes.data()), count, y.data());
  std::ofstream to(output, std::ios::binary);
  to.write(reinterpret_cast<const char*>(y.data()), static_cast<std::streamsize>(y.size() * sizeof(float)));
  std::string dims = std::to_string(count);
  for (int i = 0; i < model.output_shape().rank(); ++i) dims += " " + std::to_string(model.output_shape()[i]);
  return dims;
}

}  // namespace
}  // namespace lenslet::test

int main(int argc, char** argv) {
  lenslet::ModelOptions options;
  options.device = argc > 1 ? argv[1] : "cpu";
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::string model, input, output, batch;
    std::getline(fields, model, '\t');
    std::getline(fields, input, '\t');
    std::getline(fields, output, '\t');
    std::getline(fields, batch, '\t');
    options.max_batch = batch.empty() ? 0 : std::stoll(batch);
    try {
      const std::string dims = lenslet::test::run(model, input, output, options);
      std::cout << "ok " << dims << std::endl;
    } catch (const lenslet::DataError& error) {
      std::cout << "refused " << error.what() << std::endl;
    } catch (const std::exception& error) {
      std::cout << "failed " << error.what() << std::endl;
    }
  }
  return 0;
}
