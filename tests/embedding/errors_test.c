/* The C interface in C: what it refuses, with which status and message, and that a refusal leaves no object. */
#include <lenslet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* abi_test.c: the first change that breaks an older program, or a null pointer. */
const char* changed_abi(void);
const char* wrong_images(void);  /* images_test.c: as wrong_reading() */
const char* wrong_reading(void); /* reading_test.c: the first thing that is wrong, or a null pointer */

static int failures = 0;

static void expect(int line, lenslet_status found, lenslet_status expected, const char* fragment) {
  const char* said = lenslet_last_error();
  const int worded = expected == LENSLET_OK || (strstr(said, fragment) != NULL && strchr(said, '\n') == NULL);
  if (found == expected && worded) return;
  ++failures;
  fprintf(stderr, "line %d: expected %s with '%s', found %s with '%s'\n", line, lenslet_status_text(expected),
          fragment, lenslet_status_text(found), said);
}

static void check(int line, int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "line %d: not so: %s\n", line, what);
}

#define EXPECT(call, status, fragment) expect(__LINE__, call, status, fragment)
#define CHECK(what) check(__LINE__, what, #what)

/* Options for the CPU, which is always available. */
static int is_nan(double value) { return !(value < 0) && !(value >= 0); } /* C89 has no isnan() */

static lenslet_options cpu(void) {
  lenslet_options options;
  EXPECT(lenslet_options_init(&options, sizeof options), LENSLET_OK, "");
  options.device = "cpu";
  return options;
}

static void refuse_options(void) {
  lenslet_options options;
  lenslet_model* model = NULL;
  char sizes[200];
  size_t size;
  EXPECT(lenslet_options_init(NULL, sizeof options), LENSLET_ERROR_USAGE,
         "options must not be a null pointer");
  EXPECT(lenslet_options_init(&options, 0), LENSLET_ERROR_USAGE, "sizeof(lenslet_options)");
  EXPECT(lenslet_options_init(&options, sizeof options - 1), LENSLET_ERROR_USAGE,
         "not older than its header");
  EXPECT(lenslet_options_init(&options, sizeof options + 8), LENSLET_ERROR_USAGE,
         "not older than its header");
  /* Any size but those of the versions is refused, and the message names them. */
  for (size = 0; size <= sizeof options + 8; ++size) {
    if (size == offsetof(lenslet_options, images) || size == offsetof(lenslet_options, graph) ||
        size == sizeof options)
      continue;
    sprintf(sizes,
            "is %lu, lenslet %s accepts a lenslet_options of %lu, %lu or %lu bytes: ", (unsigned long)size,
            lenslet_version(), (unsigned long)offsetof(lenslet_options, images),
            (unsigned long)offsetof(lenslet_options, graph), (unsigned long)sizeof options);
    EXPECT(lenslet_options_init(&options, size), LENSLET_ERROR_USAGE, sizes);
  }

#define REFUSED(change, status, fragment)                               \
  do {                                                                  \
    options = cpu();                                                    \
    model = (lenslet_model*)&options;                                   \
    change;                                                             \
    EXPECT(lenslet_model_built_in(&options, &model), status, fragment); \
    CHECK(model == NULL);                                               \
  } while (0)
  REFUSED(options.size = 0, LENSLET_ERROR_USAGE, "options->size is 0");
  REFUSED(options.size = sizeof options + 1, LENSLET_ERROR_USAGE, "lenslet_options_init");
  REFUSED(memset(&options, 0, sizeof options), LENSLET_ERROR_USAGE, "options->size is 0");
  REFUSED(options.device = NULL, LENSLET_ERROR_USAGE, "options->device");
  REFUSED(options.plan = NULL, LENSLET_ERROR_USAGE, "options->plan");
  REFUSED(options.backend = NULL, LENSLET_ERROR_USAGE, "options->backend");
  REFUSED(options.math = NULL, LENSLET_ERROR_USAGE, "options->math");
  REFUSED(options.images = NULL, LENSLET_ERROR_USAGE, "options->images");
  REFUSED(options.images = "light", LENSLET_ERROR_USAGE, "expected check, invert or any, found 'light'");
  REFUSED(options.graph = NULL, LENSLET_ERROR_USAGE, "options->graph");
  REFUSED(options.graph = "maybe", LENSLET_ERROR_USAGE, "graph expects auto, on or off, found 'maybe'");
  REFUSED(options.graph = "on", LENSLET_ERROR_USAGE, "graph on needs a CUDA device");
  REFUSED(options.device = "gpu", LENSLET_ERROR_USAGE, "auto, cpu, cuda or cuda:N");
  REFUSED(options.device = "cuda:0,", LENSLET_ERROR_USAGE, "cuda:all or cuda:rank");
  REFUSED(options.device = "cuda:2,2", LENSLET_ERROR_USAGE, "twice");
  REFUSED(options.device = "cuda:0,4096", LENSLET_ERROR_UNAVAILABLE, "cuda:");
  REFUSED(options.device = "cuda:4096", LENSLET_ERROR_UNAVAILABLE, "cuda:4096");
  REFUSED(options.math = "int4", LENSLET_ERROR_USAGE, "int4");
  REFUSED(options.math = "fp16", LENSLET_ERROR_UNAVAILABLE, "fp16");
  REFUSED(options.plan = "turbo", LENSLET_ERROR_USAGE, "plan expects auto, layered, fused");
  REFUSED(options.plan = "no/such/plan.json", LENSLET_ERROR_DATA, "no/such/plan.json");
  REFUSED((options.plan = "fused", options.backend = "simt"), LENSLET_ERROR_USAGE, "did you mean 'simd'?");
  REFUSED((options.plan = "p.json", options.backend = "direct"), LENSLET_ERROR_USAGE, "leave out backend");
  REFUSED(options.backend = "conv9=direct", LENSLET_ERROR_USAGE, "conv9");
  REFUSED(options.backend = "winograd", LENSLET_ERROR_UNAVAILABLE, "winograd");
  REFUSED(options.max_batch = -1, LENSLET_ERROR_USAGE, "max_batch");
  REFUSED(options.max_batch = INT64_MAX, LENSLET_ERROR_USAGE, "max_batch");
  REFUSED((options.workspace_limit = 1, options.backend = "conv1=im2col_gemm"), LENSLET_ERROR_MEMORY,
          "workspace");
  EXPECT(lenslet_model_built_in(NULL, NULL), LENSLET_ERROR_USAGE, "model must not be a null pointer");
  model = (lenslet_model*)&options;
  options = cpu();
  EXPECT(lenslet_model_load(NULL, &options, &model), LENSLET_ERROR_USAGE, "path must not be a null pointer");
  CHECK(model == NULL);
  EXPECT(lenslet_model_load("", &options, &model), LENSLET_ERROR_USAGE, "path of the weights is empty");
  EXPECT(lenslet_model_load("no/such/file\n\xff", &options, &model), LENSLET_ERROR_DATA,
         "no/such/file\\n\\xff");
  EXPECT(lenslet_model_load(LENSLET_HEADER, &options, &model), LENSLET_ERROR_DATA, "lenslet.h");
}

static void refuse_calls(lenslet_model* model) {
  static uint8_t pixels[2 * LENSLET_PIXELS];
  static float images[2 * LENSLET_PIXELS];
  lenslet_prediction predictions[2] = {{-7, -7}, {-7, -7}};
  float logits[2 * LENSLET_CLASSES];
  lenslet_layer_time layers[16];
  size_t length = 0;
  EXPECT(lenslet_predict_u8(NULL, pixels, 1, predictions), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_predict_u8(model, NULL, 1, predictions), LENSLET_ERROR_USAGE, "images must not be");
  EXPECT(lenslet_predict_u8(model, pixels, 1, NULL), LENSLET_ERROR_USAGE, "must not be a null pointer");
  EXPECT(lenslet_predict_u8(model, pixels, -1, predictions), LENSLET_ERROR_USAGE, "negative");
  EXPECT(lenslet_predict_u8(model, pixels, INT64_MIN, predictions), LENSLET_ERROR_USAGE, "negative");
  EXPECT(lenslet_predict_u8(model, pixels, (int64_t)1 << 60, predictions), LENSLET_ERROR_USAGE,
         "784 bytes each");
  EXPECT(lenslet_run(model, images, INT64_MAX, logits), LENSLET_ERROR_USAGE, "3136 bytes each, found 922");
  EXPECT(lenslet_predict_f32(NULL, images, 1, predictions), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_predict_f32(model, images, -2, predictions), LENSLET_ERROR_USAGE, "-2");
  EXPECT(lenslet_predict_f32(model, (const float*)(const void*)((const char*)images + 1), 1, predictions),
         LENSLET_ERROR_USAGE, "aligned");
  EXPECT(lenslet_logits_u8(NULL, pixels, 1, logits), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_logits_u8(model, pixels, 1, NULL), LENSLET_ERROR_USAGE, "must not be");
  EXPECT(lenslet_logits_f32(model, NULL, 1, logits), LENSLET_ERROR_USAGE, "must not be");
  EXPECT(lenslet_logits_f32(NULL, images, 1, logits), LENSLET_ERROR_USAGE, "model must not be");
  CHECK(predictions[0].label == -7 && predictions[1].label == -7);
  EXPECT(lenslet_predict_u8(model, NULL, 0, NULL), LENSLET_OK, "");
  EXPECT(lenslet_logits_f32(model, NULL, 0, NULL), LENSLET_OK, "");

  EXPECT(lenslet_profile(NULL, 1, 1, layers, 16, &length, NULL), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_profile(model, 0, 1, layers, 16, &length, NULL), LENSLET_ERROR_USAGE, "found 0");
  EXPECT(lenslet_profile(model, INT64_MAX, 1, layers, 16, &length, NULL), LENSLET_ERROR_USAGE, "batch");
  EXPECT(lenslet_profile(model, 1, -1, layers, 16, &length, NULL), LENSLET_ERROR_USAGE, "min_time_ms");
  EXPECT(lenslet_profile(model, 1, 1e300, layers, 16, &length, NULL), LENSLET_ERROR_USAGE, "min_time_ms");
  EXPECT(lenslet_profile(model, 1, 1, NULL, 16, &length, NULL), LENSLET_ERROR_USAGE, "layers");
  EXPECT(lenslet_model_plan(NULL, 1, NULL, 0, &length), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_model_plan(model, -1, NULL, 0, &length), LENSLET_ERROR_USAGE, "batch");
  EXPECT(lenslet_model_plan(model, 1, NULL, 1, &length), LENSLET_ERROR_USAGE, "text");
  EXPECT(lenslet_model_backends(NULL, 1, NULL, 0, &length), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_model_shares(NULL, NULL, 0, &length), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_model_shares(model, NULL, 1, &length), LENSLET_ERROR_USAGE, "text with a capacity above 0");
  length = 7;
  EXPECT(lenslet_model_shares(model, NULL, 0, &length), LENSLET_OK, "");
  CHECK(length == 0);
  EXPECT(lenslet_model_backends(model, 0, NULL, 0, &length), LENSLET_ERROR_USAGE, "batch");
  EXPECT(lenslet_read_digit(NULL, pixels), LENSLET_ERROR_USAGE, "path");
  EXPECT(lenslet_read_digit(LENSLET_SAMPLE, NULL), LENSLET_ERROR_USAGE, "pixels");
  EXPECT(lenslet_read_digit("no/such.png", pixels), LENSLET_ERROR_DATA, "no/such.png");
  EXPECT(lenslet_read_digit(LENSLET_HEADER, pixels), LENSLET_ERROR_DATA, "lenslet.h");
  EXPECT(lenslet_set_num_threads(0), LENSLET_ERROR_USAGE, "threads");
  CHECK(lenslet_model_device(NULL) == NULL && lenslet_model_device_name(NULL) == NULL);
  CHECK(is_nan(lenslet_model_energy_threshold(NULL)));
  CHECK(strcmp(lenslet_status_text((lenslet_status)99), "unknown status") == 0);
}

static void use(lenslet_model* model) {
  uint8_t pixels[LENSLET_PIXELS];
  lenslet_prediction answer;
  float logits[LENSLET_CLASSES];
  lenslet_layer_time layers[2];
  char text[64], *whole;
  void* memory = NULL;
  size_t length = 0, count = 0, i;
  int best = 0;
  double total_ns = 0;
  EXPECT(lenslet_read_digit(LENSLET_SAMPLE, pixels), LENSLET_OK, "");
  EXPECT(lenslet_predict_u8(model, pixels, 1, &answer), LENSLET_OK, "");
  CHECK(answer.label == 4 && answer.probability > 0.5f && answer.probability <= 1.0f);
  EXPECT(lenslet_logits_u8(model, pixels, 1, logits), LENSLET_OK, "");
  for (i = 1; i < LENSLET_CLASSES; ++i) {
    if (logits[i] > logits[best]) best = (int)i;
  }
  CHECK(best == 4);

  /* A GPU's memory, to a model on the CPU. */
  EXPECT(lenslet_predict_device(model, pixels, 1, &answer, NULL), LENSLET_ERROR_USAGE, "computes on the CPU");
  EXPECT(lenslet_predict_f32_device(model, logits, 1, &answer, NULL), LENSLET_ERROR_USAGE, "the CPU");
  EXPECT(lenslet_logits_device(model, pixels, 1, logits, NULL), LENSLET_ERROR_USAGE, "the CPU");
  EXPECT(lenslet_logits_f32_device(model, logits, 1, logits, NULL), LENSLET_ERROR_USAGE, "the CPU");
  EXPECT(lenslet_run_device(model, logits, 1, logits, NULL), LENSLET_ERROR_USAGE, "pass host memory");
  EXPECT(lenslet_run_device(NULL, logits, 1, logits, NULL), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_predict_device(model, NULL, 0, NULL, NULL), LENSLET_OK, "");

  /* Page-locked memory: only with a GPU. */
  EXPECT(lenslet_host_alloc(1, NULL), LENSLET_ERROR_USAGE, "memory must not be");
  if (lenslet_host_alloc(4096, &memory) == LENSLET_OK) {
    memset(memory, 1, 4096);
  } else {
    EXPECT(lenslet_host_alloc(4096, &memory), LENSLET_ERROR_UNAVAILABLE, "needs a GPU");
    CHECK(memory == NULL);
  }
  lenslet_host_free(memory);
  lenslet_host_free(NULL);

  /* Texts: only their length, truncated, complete. */
  EXPECT(lenslet_model_backends(model, 3, NULL, 0, &length), LENSLET_OK, "");
  CHECK(length > sizeof text);
  memset(text, 'x', sizeof text);
  EXPECT(lenslet_model_backends(model, 3, text, 10, &count), LENSLET_OK, "");
  CHECK(count == length && strlen(text) == 9 && text[10] == 'x');
  whole = (char*)malloc(length + 1);
  EXPECT(lenslet_model_backends(model, 3, whole, length + 1, NULL), LENSLET_OK, "");
  CHECK(strlen(whole) == length && strstr(whole, "conv1\tdirect\t\n") && strstr(whole, "lenet5\tsimd\t\n"));
  free(whole);
  EXPECT(lenslet_model_plan(model, 1, NULL, 0, &length), LENSLET_OK, "");
  whole = (char*)malloc(length + 1);
  EXPECT(lenslet_model_plan(model, 1, whole, length + 1, &count), LENSLET_OK, "");
  CHECK(count == length && strstr(whole, "lenslet.plan/1") && strstr(whole, "\"fused\""));
  free(whole);

  EXPECT(lenslet_profile(model, 2, 1, layers, 2, &count, &total_ns), LENSLET_OK, "");
  CHECK(count > 4 && strcmp(layers[0].name, "conv1") == 0 && strlen(layers[0].backend) > 0);
  CHECK(strcmp(layers[0].math, "fp32") == 0 && layers[0].median_ns > 0 &&
        layers[0].p10_ns <= layers[0].p90_ns);
  CHECK(total_ns > 0);
  EXPECT(lenslet_profile(model, 2, 1, NULL, 0, NULL, NULL), LENSLET_OK, "");
  CHECK(is_nan(lenslet_model_energy_threshold(model)));
  CHECK(strcmp(lenslet_model_device(model), "cpu") == 0 && strlen(lenslet_model_device_name(model)) > 0);
}

/* A network of an ONNX file: its shapes, one call as two, and what refuses it. */
static void use_network(void) {
  static float inputs[2 * 3 * 32 * 32];
  float both[20], one[10], digits[LENSLET_CLASSES];
  static float picture[LENSLET_PIXELS];
  int64_t dims[LENSLET_MAX_RANK] = {-1, -1, -1, -1, -1, -1, -1, -1};
  size_t rank = 0, i;
  lenslet_prediction answer = {-7, -7};
  lenslet_options options = cpu();
  lenslet_model* model = NULL;
  for (i = 0; i < sizeof inputs / sizeof *inputs; ++i) inputs[i] = (float)(i * 7919 % 1000) / 500 - 1;
  EXPECT(lenslet_model_load(LENSLET_NETWORK, &options, &model), LENSLET_OK, "");
  EXPECT(lenslet_model_input(model, dims, LENSLET_MAX_RANK, &rank), LENSLET_OK, "");
  CHECK(rank == 3 && dims[0] == 3 && dims[1] == 32 && dims[2] == 32 && dims[3] == -1);
  EXPECT(lenslet_model_output(model, dims, 1, &rank), LENSLET_OK, "");
  CHECK(rank == 1 && dims[0] == 10 && dims[1] == 32);
  EXPECT(lenslet_model_input(model, NULL, 0, NULL), LENSLET_OK, "");
  EXPECT(lenslet_model_input(model, NULL, 1, &rank), LENSLET_ERROR_USAGE, "dims");
  EXPECT(lenslet_model_output(NULL, dims, 1, &rank), LENSLET_ERROR_USAGE, "model must not be");

  EXPECT(lenslet_run(model, inputs, 2, both), LENSLET_OK, "");
  EXPECT(lenslet_run(model, inputs + 3 * 32 * 32, 1, one), LENSLET_OK, "");
  CHECK(memcmp(both + 10, one, sizeof one) == 0 && memcmp(both, one, sizeof one) != 0);
  EXPECT(lenslet_run(model, NULL, 0, NULL), LENSLET_OK, "");
  EXPECT(lenslet_run(model, NULL, 1, both), LENSLET_ERROR_USAGE, "must not be a null pointer");
  EXPECT(lenslet_run(model, inputs, -1, both), LENSLET_ERROR_USAGE, "-1");
  EXPECT(lenslet_run(NULL, inputs, 1, both), LENSLET_ERROR_USAGE, "model must not be");
  EXPECT(lenslet_predict_f32(model, inputs, 1, &answer), LENSLET_ERROR_DATA, "reads 3x32x32 and writes 10");
  EXPECT(lenslet_logits_f32(model, inputs, 1, one), LENSLET_ERROR_DATA, "run() supports any network");
  CHECK(answer.label == -7);
  lenslet_model_destroy(model);

  /* For the digit model a run writes the logits. */
  EXPECT(lenslet_model_built_in(&options, &model), LENSLET_OK, "");
  EXPECT(lenslet_model_input(model, dims, 2, &rank), LENSLET_OK, "");
  CHECK(rank == 3 && dims[0] == 1 && dims[1] == LENSLET_SIDE);
  for (i = 0; i < LENSLET_PIXELS; ++i) picture[i] = inputs[i];
  EXPECT(lenslet_run(model, picture, 1, one), LENSLET_OK, "");
  EXPECT(lenslet_logits_f32(model, picture, 1, digits), LENSLET_OK, "");
  CHECK(memcmp(one, digits, sizeof one) == 0);
  lenslet_model_destroy(model);
}

int main(void) {
  lenslet_options options;
  lenslet_model* model = NULL;
  CHECK(strcmp(lenslet_last_error(), "") == 0);
  CHECK(strcmp(lenslet_version(), LENSLET_EXPECTED_VERSION) == 0);
  if (changed_abi() != NULL) {
    ++failures;
    fprintf(stderr, "programs built with lenslet 0.1 break: %s\n", changed_abi());
  }
  {
    const char* wrong = wrong_reading();
    if (wrong == NULL) wrong = wrong_images();
    if (wrong != NULL) {
      ++failures;
      fprintf(stderr, "not so: %s; last error: %s\n", wrong, lenslet_last_error());
    }
  }
  refuse_options();
  options = cpu();
  EXPECT(lenslet_model_load(LENSLET_WEIGHTS, &options, &model), LENSLET_OK, "");
  refuse_calls(model);
  use(model);
  lenslet_model_destroy(model);
  lenslet_model_destroy(NULL);
  use_network();
  if (failures == 0) puts("every refusal has its status and its words");
  return failures != 0;
}
