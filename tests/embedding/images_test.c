/* lenslet_options.images: which pictures lenslet_predict_* and lenslet_logits_* refuse, and what inverting gives. */
#include <lenslet.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT 70
#define EXPECT(holds) \
  if (!(holds)) return #holds

static uint8_t bright[COUNT * LENSLET_PIXELS], dark[COUNT * LENSLET_PIXELS];
static float shares[COUNT * LENSLET_PIXELS], bright_f32[COUNT * LENSLET_PIXELS],
    dark_f32[COUNT * LENSLET_PIXELS];
static uint8_t bright_u4[COUNT * LENSLET_PACKED_BYTES], dark_u4[COUNT * LENSLET_PACKED_BYTES];
static lenslet_prediction answers[COUNT], others[COUNT];

/* Draws upright strokes; the first image is uniformly grey. */
static void draw(void) {
  int i, k;
  for (i = 0; i < COUNT; ++i) {
    for (k = 0; k < LENSLET_PIXELS; ++k) {
      const int x = k % LENSLET_SIDE, y = k / LENSLET_SIDE, at = i * LENSLET_PIXELS + k;
      bright[at] = (uint8_t)(i > 0 && x >= 12 && x < 15 && y >= 4 && y < 24 - i % 3 ? 255 : 0);
      dark[at] = (uint8_t)(255 - bright[at]);
      shares[at] = (float)bright[at] / 255.0f;
      bright_f32[at] = (shares[at] - 0.1307f) / 0.3081f;
      dark_f32[at] = (1.0f - shares[at] - 0.1307f) / 0.3081f;
    }
  }
}

static lenslet_model* model_with(const char* images) {
  lenslet_options options;
  lenslet_model* model = NULL;
  if (lenslet_options_init(&options, sizeof options) != LENSLET_OK) return NULL;
  options.device = "cpu";
  if (images != NULL) options.images = images;
  return lenslet_model_built_in(&options, &model) == LENSLET_OK ? model : NULL;
}

static int refused(lenslet_status status, const char* words) {
  return status == LENSLET_ERROR_USAGE && strstr(lenslet_last_error(), words) != NULL;
}

static int same_labels(void) {
  int i;
  for (i = 0; i < COUNT; ++i) {
    if (answers[i].label != others[i].label) return 0;
  }
  return 1;
}

/* The strokes are of greys that packing keeps, so the answers are those of bytes, to the bit on the CPU. */
static const char* wrong_packed(lenslet_model* check, lenslet_model* invert, lenslet_model* any) {
  static float logits[COUNT * LENSLET_CLASSES], others_logits[COUNT * LENSLET_CLASSES];
  static const uint8_t two[LENSLET_PIXELS] = {8, 9, 246, 247};
  uint8_t guarded[LENSLET_PACKED_BYTES + 1];
  int64_t count;
  EXPECT(LENSLET_PACKED_BYTES == 392);
  guarded[LENSLET_PACKED_BYTES] = 0xa5;
  EXPECT(lenslet_pack_u4(two, 1, guarded) == LENSLET_OK);
  EXPECT(guarded[0] == 0x10 && guarded[1] == 0xfe && guarded[2] == 0);
  EXPECT(guarded[LENSLET_PACKED_BYTES] == 0xa5);
  EXPECT(lenslet_pack_u4(bright, COUNT, bright_u4) == LENSLET_OK);
  EXPECT(lenslet_pack_u4(dark, COUNT, dark_u4) == LENSLET_OK);
  EXPECT(lenslet_pack_u4(NULL, 0, NULL) == LENSLET_OK);
  EXPECT(refused(lenslet_pack_u4(NULL, 1, guarded), "pixels must not be a null pointer"));
  EXPECT(refused(lenslet_pack_u4(two, 1, NULL), "packed must not be a null pointer"));
  EXPECT(refused(lenslet_pack_u4(two, INT64_MAX, guarded), "784 bytes each"));
  EXPECT(refused(lenslet_pack_u4(two, -1, guarded), "must not be negative, found -1"));

  for (count = 1; count <= COUNT; count += 23) {
    memset(others, 0, sizeof others);
    EXPECT(lenslet_predict_u8(check, bright, count, answers) == LENSLET_OK);
    EXPECT(lenslet_predict_u4(check, bright_u4, count, others) == LENSLET_OK);
    EXPECT(memcmp(answers, others, (size_t)count * sizeof *answers) == 0);
    EXPECT(lenslet_logits_u8(check, bright, count, logits) == LENSLET_OK);
    EXPECT(lenslet_logits_u4(check, bright_u4, count, others_logits) == LENSLET_OK);
    EXPECT(memcmp(logits, others_logits, (size_t)count * LENSLET_CLASSES * sizeof *logits) == 0);
  }
  EXPECT(lenslet_predict_u4(check, bright_u4, 0, NULL) == LENSLET_OK);
  EXPECT(refused(lenslet_predict_u4(check, NULL, 1, others), "images must not be a null pointer"));
  EXPECT(refused(lenslet_logits_u4(check, bright_u4, 1, NULL), "answers' place must not be a null pointer"));
  EXPECT(refused(lenslet_predict_u4(NULL, bright_u4, 1, others), "model must not be a null pointer"));
  EXPECT(
      refused(lenslet_predict_u4(check, dark_u4, COUNT, others), "found dark on light in 63 of 63 images"));
  EXPECT(refused(lenslet_predict_u4_device(check, bright_u4, 1, others, NULL), "computes on the CPU"));
  EXPECT(refused(lenslet_logits_u4_device(check, bright_u4, 1, logits, NULL), "computes on the CPU"));

  EXPECT(lenslet_predict_u8(check, bright, COUNT, answers) == LENSLET_OK);
  memset(others, 0, sizeof others);
  EXPECT(lenslet_predict_u4(invert, dark_u4, COUNT, others) == LENSLET_OK);
  EXPECT(memcmp(answers, others, sizeof answers) == 0);
  EXPECT(refused(lenslet_logits_u4(invert, bright_u4, COUNT, logits), "\"check\", which does not invert"));
  EXPECT(lenslet_predict_u4(any, dark_u4, COUNT, others) == LENSLET_OK);
  return NULL;
}

/* The first value that is no number is named, also in an image whose scale is not checked. */
static const char* wrong_numbers(lenslet_model* check, lenslet_model* invert, lenslet_model* any) {
  static float odd[COUNT * LENSLET_PIXELS], logits[COUNT * LENSLET_CLASSES];
  const float infinity = (float)HUGE_VAL, not_a_number = infinity - infinity;
  const char* const names[] = {"found nan in image ", "found inf in image ", "found -inf in image "};
  float of[3];
  char words[100];
  int image, kind;
  of[0] = not_a_number;
  of[1] = infinity;
  of[2] = -infinity;
  for (image = 0; image < COUNT; ++image) {
    kind = image % 3;
    memcpy(odd, bright_f32, sizeof odd);
    odd[image * LENSLET_PIXELS + 5 * LENSLET_SIDE + 9] = of[kind];
    odd[COUNT * LENSLET_PIXELS - 1] = not_a_number; /* not the first */
    sprintf(words, "%s%d, row 5, column 9, each counted from 0; replace such values", names[kind], image);
    EXPECT(refused(lenslet_predict_f32(check, odd, COUNT, others), words));
    EXPECT(refused(lenslet_logits_f32(check, odd, COUNT, logits), words));
    EXPECT(refused(lenslet_predict_f32(invert, odd, COUNT, others), words));
    EXPECT(image == 0 || lenslet_predict_f32(check, odd, image, others) == LENSLET_OK);
  }
  EXPECT(lenslet_predict_f32(any, odd, COUNT, others) == LENSLET_OK);
  EXPECT(others[COUNT - 1].probability != others[COUNT - 1].probability);
  return NULL;
}

static const char* wrong_with(lenslet_model* check, lenslet_model* invert, lenslet_model* any) {
  static float logits[COUNT * LENSLET_CLASSES], pale[COUNT * LENSLET_PIXELS];
  int i;
  EXPECT(check && invert && any);
  EXPECT(lenslet_predict_u8(check, bright, COUNT, answers) == LENSLET_OK);
  EXPECT(answers[1].label == 1 && answers[COUNT - 1].label == 1);
  EXPECT(lenslet_predict_f32(check, bright_f32, COUNT, others) == LENSLET_OK && same_labels());
  EXPECT(lenslet_predict_u8(check, dark, 1, others) == LENSLET_OK); /* images of one value are skipped */

  EXPECT(refused(lenslet_predict_u8(check, dark, COUNT, others), "found dark on light in 63 of 63 images"));
  EXPECT(refused(lenslet_logits_u8(check, dark, COUNT, logits), "\"invert\" to swap dark and bright"));
  EXPECT(refused(lenslet_predict_f32(check, dark_f32, COUNT, others), "dark on light"));
  EXPECT(refused(lenslet_predict_f32(check, shares, COUNT, others), "found 0 to 1, which are pixels"));
  EXPECT(refused(lenslet_logits_f32(check, shares, COUNT, logits), "pass bytes to the _u8 function"));

  memset(others, 0, sizeof others);
  EXPECT(lenslet_predict_u8(invert, dark, COUNT, others) == LENSLET_OK && same_labels());
  memset(others, 0, sizeof others);
  EXPECT(lenslet_predict_f32(invert, dark_f32, COUNT, others) == LENSLET_OK && same_labels());
  EXPECT(lenslet_logits_u8(invert, dark, COUNT, logits) == LENSLET_OK);
  EXPECT(logits[(COUNT - 1) * LENSLET_CLASSES + 1] > logits[(COUNT - 1) * LENSLET_CLASSES + 7]);
  EXPECT(refused(lenslet_predict_u8(invert, bright, COUNT, others), "\"check\", which does not invert"));
  /* Messages give what was passed, not the inverted values. */
  EXPECT(
      refused(lenslet_predict_u8(invert, bright, COUNT, others), "found bright on dark in 63 of 63 images"));
  EXPECT(refused(lenslet_predict_f32(invert, bright_f32, COUNT, others), "found bright on dark in 63 of 63"));
  EXPECT(refused(lenslet_predict_f32(invert, shares, COUNT, others), "found 0 to 1, which are pixels"));
  for (i = 0; i < COUNT * LENSLET_PIXELS; ++i) pale[i] = dark_f32[i] < 0.5f ? 0.5f : dark_f32[i];
  EXPECT(lenslet_predict_f32(invert, pale, COUNT, others) == LENSLET_OK);
  for (i = 0; i < COUNT * LENSLET_PIXELS; ++i) pale[i] = 255 * shares[i];
  EXPECT(refused(lenslet_predict_f32(invert, pale, COUNT, others), "found 0 to 255, which are pixels"));

  EXPECT(lenslet_predict_u8(any, dark, COUNT, others) == LENSLET_OK);
  EXPECT(lenslet_logits_f32(any, shares, COUNT, logits) == LENSLET_OK);
  return NULL;
}

const char* wrong_images(void) {
  lenslet_model *check = model_with(NULL), *invert = model_with("invert"), *any = model_with("any");
  const char* wrong;
  draw();
  wrong = wrong_with(check, invert, any);
  if (wrong == NULL) wrong = wrong_numbers(check, invert, any);
  if (wrong == NULL) wrong = wrong_packed(check, invert, any);
  lenslet_model_destroy(any);
  lenslet_model_destroy(invert);
  lenslet_model_destroy(check);
  return wrong;
}
