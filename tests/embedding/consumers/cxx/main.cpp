// Reads a picture of a digit and prints which one it is: consumer PICTURE [BACKEND]
#include <cstdio>

#include "api/model.h"
#include "framework/base/error.h"
#include "models/digit/digit_image.h"

int main(int argc, char** argv) {
  try {
    lenslet::ModelOptions options;
    options.device = "cpu";
    if (argc > 2) options.backend = argv[2];
    lenslet::Model model = lenslet::Model::built_in(options);
    const lenslet::DigitImage digit = lenslet::prepare_digit(lenslet::read_picture(argc > 1 ? argv[1] : ""));
    lenslet::Prediction answer;
    model.predict(digit.pixels.data(), 1, &answer);
    std::printf("%d %.2f\n", answer.label, answer.probability);
  } catch (const lenslet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
