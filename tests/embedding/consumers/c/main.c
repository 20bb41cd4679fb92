/* Reads a picture of a digit and prints which one it is: consumer PICTURE [BACKEND] */
#include <lenslet.h>
#include <stdio.h>

int main(int argc, char** argv) {
  uint8_t pixels[LENSLET_PIXELS];
  lenslet_options options;
  lenslet_prediction answer;
  lenslet_model* model = NULL;
  lenslet_status status = lenslet_options_init(&options, sizeof options);
  options.device = "cpu";
  if (argc > 2) options.backend = argv[2];
  if (status == LENSLET_OK) status = lenslet_model_built_in(&options, &model);
  if (status == LENSLET_OK) status = lenslet_read_digit(argc > 1 ? argv[1] : NULL, pixels);
  if (status == LENSLET_OK) status = lenslet_predict_u8(model, pixels, 1, &answer);
  if (status == LENSLET_OK) {
    printf("%d %.2f\n", (int)answer.label, answer.probability);
  } else {
    fprintf(stderr, "%s: %s\n", lenslet_status_text(status), lenslet_last_error());
  }
  lenslet_model_destroy(model);
  return status;
}
