/*
 * Times calls of liblenslet.so from C with ordinary memory; prints one line of JSON per number of pictures.
 *   c_calls [page-locked] DEVICE MATH FOLDER MIN_MS COUNT...
 * FOLDER has pixels.bin (784 bytes per picture), labels.bin and expected.bin (one byte per picture: its label, and the
 * class that `lenslet eval` answers), as user_calls.py writes them; larger counts repeat them. Each count is called for
 * MIN_MS and at least ten times, after three calls that are not timed. The answers of the last call are judged.
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

static void demand(lenslet_status status) {
  if (status == LENSLET_OK) return;
  fprintf(stderr, "c_calls: %s\n", lenslet_last_error());
  exit((int)status);
}

int main(int argc, char** argv) {
  const int page_locked = argc > 1 && strcmp(argv[1], "page-locked") == 0;
  argc -= page_locked;
  argv += page_locked;
  if (argc < 6) {
    fputs("usage: c_calls [page-locked] DEVICE MATH FOLDER MIN_MS COUNT...\n", stderr);
    return 2;
  }
  size_t pixel_bytes, known, expected_bytes;
  unsigned char* pixels = read_file(argv[3], "pixels.bin", &pixel_bytes);
  unsigned char* labels = read_file(argv[3], "labels.bin", &known);
  unsigned char* expected = read_file(argv[3], "expected.bin", &expected_bytes);
  if (expected_bytes != known || known * LENSLET_PIXELS != pixel_bytes) {
    fputs("c_calls: the files of FOLDER differ in their numbers of pictures\n", stderr);
    return 3;
  }
  const double min_ns = atof(argv[4]) * 1e6;
  lenslet_options options;
  lenslet_model* model;
  double* samples = malloc(kMaxCalls * sizeof *samples);
  demand(lenslet_options_init(&options, sizeof options));
  options.device = argv[1];
  options.math = argv[2];
  demand(lenslet_model_built_in(&options, &model));
  for (int argument = 5; argument < argc; ++argument) {
    const size_t count = (size_t)atoll(argv[argument]);
    unsigned char* input = NULL;
    lenslet_prediction* answers = malloc(count * sizeof *answers);
    if (page_locked) {
      void* memory;
      demand(lenslet_host_alloc(count * LENSLET_PIXELS, &memory));
      input = memory;
    } else {
      input = malloc(count * LENSLET_PIXELS);
    }
    if (!samples || !input || !answers) {
      fprintf(stderr, "c_calls: no memory for %zu pictures\n", count);
      return 6;
    }
    for (size_t i = 0; i < count * LENSLET_PIXELS; ++i) input[i] = pixels[i % pixel_bytes];
    int calls = 0;
    double start = 0;
    for (int call = -kWarmUp; call < kMaxCalls; ++call) {
      const double begin = now_ns();
      demand(lenslet_predict_u8(model, input, (int64_t)count, answers));
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
