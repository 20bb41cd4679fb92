/* lenslet_read and lenslet_read_memory in C: what they give, what they refuse, and the size of the struct. */
#include <lenslet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* wrong_reading(void);

#define SIDE_X 140
#define SIDE_Y 80

/* A PGM file in memory: `bars` strokes of 6 x 50 pixels, 30 apart, on white paper. Returns its bytes. */
static size_t draw(unsigned char* file, int bars) {
  const size_t head = (size_t)sprintf((char*)file, "P5 %d %d 255\n", SIDE_X, SIDE_Y);
  int x, y, bar;
  memset(file + head, 255, SIDE_X * SIDE_Y);
  for (bar = 0; bar < bars; ++bar) {
    for (y = 15; y < 65; ++y) {
      for (x = 0; x < 6; ++x) file[head + (size_t)(y * SIDE_X + 40 + 30 * bar + x)] = 0;
    }
  }
  return head + SIDE_X * SIDE_Y;
}

/* The first thing that is wrong, or a null pointer. */
const char* wrong_reading(void) {
  static unsigned char file[SIDE_X * SIDE_Y + 100];
  lenslet_options options;
  lenslet_reading reading;
  lenslet_model* model = NULL;
  size_t size = draw(file, 2);
  char sizes[100];
  unsigned noise = 1;
  int i;
#define NEED(holds) \
  if (!(holds)) return #holds
#define FAILS(call, status, words) NEED((call) == (status) && strstr(lenslet_last_error(), words) != NULL)
  NEED(lenslet_options_init(&options, sizeof options) == LENSLET_OK);
  options.device = "cpu";
  NEED(lenslet_model_load("robust", &options, &model) == LENSLET_OK);

  /* The size tells the caller's version of the struct. */
  memset(&reading, 0xff, sizeof reading);
  FAILS(lenslet_reading_init(NULL, sizeof reading), LENSLET_ERROR_USAGE,
        "reading must not be a null pointer");
  FAILS(lenslet_reading_init(&reading, 8), LENSLET_ERROR_USAGE, "sizeof(lenslet_reading)");
  sprintf(sizes, "is 8, lenslet %s accepts a lenslet_reading of %lu bytes: ", lenslet_version(),
          (unsigned long)sizeof reading);
  FAILS(lenslet_reading_init(&reading, 8), LENSLET_ERROR_USAGE, sizes);
  FAILS(lenslet_read_memory(model, file, size, &reading), LENSLET_ERROR_USAGE, "lenslet_reading_init");
  NEED(lenslet_reading_init(&reading, sizeof reading) == LENSLET_OK);
  NEED(reading.size == sizeof reading && reading.digit_count == 0 && reading.number[0] == '\0');
  NEED(reading.refusal == LENSLET_READ && reading.probability != reading.probability);

  /* Two strokes of a pen, with their boxes. */
  NEED(lenslet_read_memory(model, file, size, &reading) == LENSLET_OK);
  NEED(strcmp(reading.number, "11") == 0 && reading.refusal == LENSLET_READ && reading.digit_count == 2);
  NEED(reading.probability > 0.3 && reading.probability <= 1);
  for (i = 0; i < 2; ++i) {
    const lenslet_digit* digit = &reading.digits[i];
    NEED(digit->label == 1 && digit->refusal == LENSLET_READ);
    NEED(digit->x == 40 + 30 * i && digit->y == 15 && digit->width == 6 && digit->height == 50);
    NEED(digit->probability > 0.5f && digit->energy > lenslet_model_energy_threshold(model));
  }

  /* A refusal is no error. */
  size = draw(file, 0);
  NEED(lenslet_read_memory(model, file, size, &reading) == LENSLET_OK);
  NEED(reading.refusal == LENSLET_REFUSED_BLANK && reading.digit_count == 0 && reading.number[0] == '\0');
  NEED((reading.warnings & LENSLET_WARNING_BLANK) != 0 &&
       strcmp(reading.message, "blank: no ink found") == 0);
  NEED(reading.probability != reading.probability);
  for (i = (int)size - SIDE_X * SIDE_Y; i < (int)size; ++i) {
    noise = noise * 1103515245u + 12345u;
    file[i] = (unsigned char)(noise >> 16);
  }
  NEED(lenslet_read_memory(model, file, size, &reading) == LENSLET_OK);
  NEED(reading.refusal == LENSLET_REFUSED_TEXTURE && reading.warnings == 0 &&
       strstr(reading.message, "texture: noise of ") == reading.message);

  /* A file, and what is none. */
  NEED(lenslet_read(model, LENSLET_SAMPLE, &reading) == LENSLET_OK);
  NEED(strcmp(reading.number, "4") == 0 && reading.digit_count == 1 && reading.warnings == 0);
  FAILS(lenslet_read(model, "none.png", &reading), LENSLET_ERROR_DATA, "none.png");
  NEED(reading.number[0] == '\0' && reading.digit_count == 0 && reading.size == sizeof reading);
  FAILS(lenslet_read(model, NULL, &reading), LENSLET_ERROR_USAGE, "path must not be");
  FAILS(lenslet_read(NULL, LENSLET_SAMPLE, &reading), LENSLET_ERROR_USAGE, "model must not be");
  FAILS(lenslet_read(model, LENSLET_SAMPLE, NULL), LENSLET_ERROR_USAGE, "reading must not be");
  FAILS(lenslet_read_memory(model, NULL, 5, &reading), LENSLET_ERROR_USAGE, "file must not be");
  FAILS(lenslet_read_memory(model, file, 0, &reading), LENSLET_ERROR_DATA, "is empty");
  FAILS(lenslet_read_memory(model, file, 200, &reading), LENSLET_ERROR_DATA, "the picture in memory");
  FAILS(lenslet_read_memory(model, "RIFF\1\1\1\1WEBPVP8 ", 16, &reading), LENSLET_ERROR_DATA,
        "WebP file; convert it with ImageMagick: convert in.webp out.png");
  lenslet_model_destroy(model);
  return NULL;
}
