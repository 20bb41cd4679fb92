/*
 * Times calls of liblenslet.so from C with ordinary memory; prints one line of JSON per number of images.
 *   c_calls [page-locked] [packed] DEVICE MATH FOLDER MIN_MS COUNT...
 * FOLDER has pixels.bin (784 bytes per image), labels.bin and expected.bin (one byte per image: its label, and the
 * class that `lenslet eval` answers), as user_calls.py writes them; larger counts repeat them. Each count is called for
 * MIN_MS and at least ten times, after three calls that are not timed. With `packed` the pixels are packed to 392 bytes
 * per image first, and expected-packed.bin has the classes.
 *
 * Each call has other images than the one before, and its answers are poisoned first, so that an earlier or a missing
 * answer fails. The judge checks all untimed calls, all calls of up to kJudgedEach images, and the last call of a
 * larger count. All of that happens between the timed windows. Up to kJudgedEach images are copied to the same place
 * before each call, so that the call finds them in the cache, as after a program's own write. Larger calls read one
 * array. Each starts kLargeStep images further on, a multiple of 2 KiB: the alignment stays, and the call reads nearly
 * the same images as the call before it, with the caches in the same state. Poison touches the answers alone, 8 bytes
 * to the 784 of an image.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lenslet.h"

/* judged_calls.py has the same, with their reasons; constants_test.py compares them. */
enum { kWarmUp = 3, kMinCalls = 10, kJudgedEach = 64, kStep = 37, kLargeStep = 256, kPoison = 0xff };
/* Samples, 0.8 MB; half a second has some 34,000 calls of one image on an H200. */
enum { kMaxCalls = 100000 };

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

/* As framework/measuring/statistics.h: interpolated between order statistics. */
static double percentile(const double* sorted, int count, double fraction) {
  const double position = fraction * (count - 1);
  const int below = (int)position;
  const int above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

/* NULL, with a message, if the file cannot be read. */
static unsigned char* read_file(const char* folder, const char* name, size_t* bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  unsigned char* data = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    *bytes = (size_t)ftell(file);
    rewind(file);
    data = malloc(*bytes);
    if (data && fread(data, 1, *bytes, file) != *bytes) {
      free(data);
      data = NULL;
    }
  }
  if (file) fclose(file);
  if (!data) fprintf(stderr, "c_calls: %s cannot be read\n", path);
  return data;
}

/* Returns `status` as main's exit code, with a message if it is an error. */
static int exit_code_of(lenslet_status status) {
  if (status != LENSLET_OK) fprintf(stderr, "c_calls: %s\n", lenslet_last_error());
  return (int)status;
}

/* Whether the first argument is `word`, which is then skipped. */
static int takes(const char* word, int* argc, char*** argv) {
  if (*argc < 2 || strcmp((*argv)[1], word) != 0) return 0;
  --*argc;
  ++*argv;
  return 1;
}

/* Fills `to` with `count` images of `bytes` bytes from image `first` on, the `known` ones again and again. */
static void copy_images(unsigned char* to, size_t count, size_t bytes, const unsigned char* pixels,
                        size_t first, size_t known) {
  for (size_t i = 0; i < count; ++i) memcpy(to + i * bytes, pixels + (first + i) % known * bytes, bytes);
}

/* The answers of the judged calls: how many in all, how many right, how many differ from `lenslet eval`. */
typedef struct verdict {
  size_t judged, correct, differing, differing_in_a_call;
} verdict;

static void judge(verdict* found, const lenslet_prediction* answers, size_t count, size_t first,
                  const unsigned char* labels, const unsigned char* expected, size_t known) {
  size_t differing = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t image = (first + i) % known;
    found->correct += answers[i].label == labels[image];
    differing += answers[i].label != expected[image] || !(answers[i].probability > 0);
  }
  found->judged += count;
  found->differing += differing;
  if (differing > found->differing_in_a_call) found->differing_in_a_call = differing;
}

int main(int argc, char** argv) {
  const int page_locked = takes("page-locked", &argc, &argv);
  const int packed = takes("packed", &argc, &argv);
  if (argc < 6) {
    fputs("usage: c_calls [page-locked] [packed] DEVICE MATH FOLDER MIN_MS COUNT...\n", stderr);
    return 2;
  }
  const size_t image_bytes = packed ? LENSLET_PACKED_BYTES : LENSLET_PIXELS;
  size_t pixel_bytes = 0, known = 0, expected_bytes = 0;
  unsigned char* pixels = read_file(argv[3], "pixels.bin", &pixel_bytes);
  unsigned char* labels = read_file(argv[3], "labels.bin", &known);
  unsigned char* expected =
      read_file(argv[3], packed ? "expected-packed.bin" : "expected.bin", &expected_bytes);
  if (!pixels || !labels || !expected) return 3;
  if (expected_bytes != known || known * LENSLET_PIXELS != pixel_bytes || known < kLargeStep) {
    fprintf(stderr, "c_calls: the files of FOLDER need the same number of images, at least %d\n", kLargeStep);
    return 3;
  }
  if (packed) {
    unsigned char* pairs = malloc(known * LENSLET_PACKED_BYTES);
    if (!pairs) {
      fputs("c_calls: no memory to pack the images\n", stderr);
      return 6;
    }
    const int code = exit_code_of(lenslet_pack_u4(pixels, (int64_t)known, pairs));
    if (code) return code;
    free(pixels);
    pixels = pairs;
  }
  const double min_ns = atof(argv[4]) * 1e6;
  lenslet_options options;
  lenslet_model* model;
  double* samples = malloc(kMaxCalls * sizeof *samples);
  int code = exit_code_of(lenslet_options_init(&options, sizeof options));
  if (code) return code;
  options.device = argv[1];
  options.math = argv[2];
  code = exit_code_of(lenslet_model_built_in(&options, &model));
  if (code) return code;
  for (int argument = 5; argument < argc; ++argument) {
    const size_t count = (size_t)atoll(argv[argument]);
    const int each = count <= kJudgedEach;
    const size_t held = each ? count : count + known;
    unsigned char* images = NULL;
    lenslet_prediction* answers = malloc(count * sizeof *answers);
    if (page_locked) {
      void* memory;
      code = exit_code_of(lenslet_host_alloc(held * image_bytes, &memory));
      if (code) return code;
      images = memory;
    } else {
      images = malloc(held * image_bytes);
    }
    if (!samples || !images || !answers) {
      fprintf(stderr, "c_calls: no memory for %zu images\n", held);
      return 6;
    }
    copy_images(images, held, image_bytes, pixels, 0, known);
    verdict found = {0, 0, 0, 0};
    int calls = 0;
    double spent = 0;
    for (int call = -kWarmUp, last = 0; !last; ++call) {
      const size_t number = (size_t)(call + kWarmUp);
      const size_t first = each ? number * kStep % known : number * kLargeStep % (known - known % kLargeStep);
      const unsigned char* input = each ? images : images + first * image_bytes;
      if (each) copy_images(images, count, image_bytes, pixels, first, known);
      memset(answers, kPoison, count * sizeof *answers); /* label -1, probability NaN */
      const double begin = now_ns();
      const lenslet_status status = packed ? lenslet_predict_u4(model, input, (int64_t)count, answers)
                                           : lenslet_predict_u8(model, input, (int64_t)count, answers);
      const double ns = now_ns() - begin;
      if (status != LENSLET_OK) return exit_code_of(status);
      if (call >= 0) {
        samples[calls++] = ns;
        spent += ns;
        last = calls == kMaxCalls || (calls >= kMinCalls && spent >= min_ns);
      }
      if (call < 0 || each || last) judge(&found, answers, count, first, labels, expected, known);
    }
    qsort(samples, (size_t)calls, sizeof *samples, by_value);
    printf(
        "{\"count\": %zu, \"p10\": %.0f, \"median\": %.0f, \"p90\": %.0f, \"p99\": %.0f, \"samples\": %d, "
        "\"correct\": %zu, \"differing\": %zu, \"differing_in_a_call\": %zu, \"judged\": %zu, "
        "\"device\": \"%s\"}\n",
        count, percentile(samples, calls, 0.1), percentile(samples, calls, 0.5),
        percentile(samples, calls, 0.9), percentile(samples, calls, 0.99), calls, found.correct,
        found.differing, found.differing_in_a_call, found.judged, lenslet_model_device(model));
    fflush(stdout);
    if (page_locked) {
      lenslet_host_free(images);
    } else {
      free(images);
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
