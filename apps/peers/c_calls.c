/*
 * Times calls of liblenslet.so from C with ordinary memory; prints one line of JSON per number of images.
 *   c_calls [page-locked] [packed] DEVICE MATH FOLDER MIN_MS COUNT...
 * FOLDER has pixels.bin (784 bytes per image), labels.bin and expected.bin (one byte per image: its label, and the
 * class that `lenslet eval` answers), as user_calls.py writes them; larger counts repeat them. Each count is called for
 * MIN_MS and at least ten times, after three calls that are not timed. The answers of the last call are judged. With
 * `packed` the pixels are packed to 392 bytes per image first, and expected-packed.bin has the classes.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lenslet.h"

enum { kWarmUp = 3, kMinCalls = 10, kMaxCalls = 100000 };

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

static unsigned char* read_file(const char* folder, const char* name, size_t* bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  unsigned char* data = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    *bytes = (size_t)ftell(file);
    rewind(file);
    data = malloc(*bytes);
    if (data && fread(data, 1, *bytes, file) != *bytes) data = NULL;
  }
  if (!data) {
    fprintf(stderr, "c_calls: %s cannot be read\n", path);
    exit(3);
  }
  fclose(file);
  return data;
}

static void check_status(lenslet_status status) {
  if (status == LENSLET_OK) return;
  fprintf(stderr, "c_calls: %s\n", lenslet_last_error());
  exit((int)status);
}

/* Whether the first argument is `word`, which is then skipped. */
static int takes(const char* word, int* argc, char*** argv) {
  if (*argc < 2 || strcmp((*argv)[1], word) != 0) return 0;
  --*argc;
  ++*argv;
  return 1;
}

int main(int argc, char** argv) {
  const int page_locked = takes("page-locked", &argc, &argv);
  const int packed = takes("packed", &argc, &argv);
  if (argc < 6) {
    fputs("usage: c_calls [page-locked] [packed] DEVICE MATH FOLDER MIN_MS COUNT...\n", stderr);
    return 2;
  }
  const size_t image_bytes = packed ? LENSLET_PACKED_BYTES : LENSLET_PIXELS;
  size_t pixel_bytes, known, expected_bytes;
  unsigned char* pixels = read_file(argv[3], "pixels.bin", &pixel_bytes);
  unsigned char* labels = read_file(argv[3], "labels.bin", &known);
  unsigned char* expected =
      read_file(argv[3], packed ? "expected-packed.bin" : "expected.bin", &expected_bytes);
  if (expected_bytes != known || known * LENSLET_PIXELS != pixel_bytes) {
    fputs("c_calls: the files of FOLDER differ in their numbers of images\n", stderr);
    return 3;
  }
  if (packed) {
    unsigned char* pairs = malloc(known * LENSLET_PACKED_BYTES);
    if (!pairs) {
      fputs("c_calls: no memory to pack the images\n", stderr);
      return 6;
    }
    check_status(lenslet_pack_u4(pixels, (int64_t)known, pairs));
    free(pixels);
    pixels = pairs;
    pixel_bytes = known * LENSLET_PACKED_BYTES;
  }
  const double min_ns = atof(argv[4]) * 1e6;
  lenslet_options options;
  lenslet_model* model;
  double* samples = malloc(kMaxCalls * sizeof *samples);
  check_status(lenslet_options_init(&options, sizeof options));
  options.device = argv[1];
  options.math = argv[2];
  check_status(lenslet_model_built_in(&options, &model));
  for (int argument = 5; argument < argc; ++argument) {
    const size_t count = (size_t)atoll(argv[argument]);
    unsigned char* input = NULL;
    lenslet_prediction* answers = malloc(count * sizeof *answers);
    if (page_locked) {
      void* memory;
      check_status(lenslet_host_alloc(count * image_bytes, &memory));
      input = memory;
    } else {
      input = malloc(count * image_bytes);
    }
    if (!samples || !input || !answers) {
      fprintf(stderr, "c_calls: no memory for %zu images\n", count);
      return 6;
    }
    const size_t input_bytes = count * image_bytes;
    for (size_t first = 0; first < input_bytes; first += pixel_bytes) {
      const size_t left = input_bytes - first;
      memcpy(input + first, pixels, left < pixel_bytes ? left : pixel_bytes);
    }
    int calls = 0;
    double start = 0;
    for (int call = -kWarmUp; call < kMaxCalls; ++call) {
      const double begin = now_ns();
      check_status(packed ? lenslet_predict_u4(model, input, (int64_t)count, answers)
                          : lenslet_predict_u8(model, input, (int64_t)count, answers));
      const double end = now_ns();
      if (call < 0) continue;
      if (call == 0) start = begin;
      samples[calls++] = end - begin;
      if (calls >= kMinCalls && end - start >= min_ns) break;
    }
    size_t correct = 0, differing = 0;
    for (size_t i = 0; i < count; ++i) {
      correct += answers[i].label == labels[i % known];
      differing += answers[i].label != expected[i % known];
    }
    qsort(samples, (size_t)calls, sizeof *samples, by_value);
    printf(
        "{\"count\": %zu, \"p10\": %.0f, \"median\": %.0f, \"p90\": %.0f, \"p99\": %.0f, \"samples\": %d, "
        "\"correct\": %zu, \"differing\": %zu, \"judged\": %zu, \"device\": \"%s\"}\n",
        count, samples[calls / 10], samples[calls / 2], samples[calls * 9 / 10], samples[calls * 99 / 100],
        calls, correct, differing, count, lenslet_model_device(model));
    fflush(stdout);
    if (page_locked) {
      lenslet_host_free(input);
    } else {
      free(input);
    }
    free(answers);
  }
  lenslet_model_destroy(model);
  free(samples);
  free(pixels);
  free(labels);
  free(expected);
  return 0;
}
