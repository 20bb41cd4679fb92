/*
 * Programs built with lenslet 0.1 run with this library: checks every function of that header with its type, the values
 * of the enumerators, and the offsets of the fields. An incompatible change needs a new SONAME (docs/embedding.md,
 * "Versions"). A removed function, or one with another type, does not compile here.
 */
#include <lenslet.h>
#include <string.h>

const char* changed_abi(void);

/* The header of 0.1, in its order. */
static struct {
  const char* (*version)(void);
  const char* (*status_text)(lenslet_status);
  const char* (*last_error)(void);
  lenslet_status (*options_init)(lenslet_options*, size_t);
  lenslet_status (*model_load)(const char*, const lenslet_options*, lenslet_model**);
  lenslet_status (*model_built_in)(const lenslet_options*, lenslet_model**);
  void (*model_destroy)(lenslet_model*);
  const char* (*model_device)(const lenslet_model*);
  const char* (*model_device_name)(const lenslet_model*);
  lenslet_status (*read_digit)(const char*, uint8_t*);
  lenslet_status (*predict_u8)(lenslet_model*, const uint8_t*, int64_t, lenslet_prediction*);
  lenslet_status (*predict_f32)(lenslet_model*, const float*, int64_t, lenslet_prediction*);
  lenslet_status (*logits_u8)(lenslet_model*, const uint8_t*, int64_t, float*);
  lenslet_status (*logits_f32)(lenslet_model*, const float*, int64_t, float*);
  lenslet_status (*profile)(lenslet_model*, int64_t, double, lenslet_layer_time*, size_t, size_t*, double*);
  lenslet_status (*model_plan)(lenslet_model*, int64_t, char*, size_t, size_t*);
  lenslet_status (*model_backends)(lenslet_model*, int64_t, char*, size_t, size_t*);
  lenslet_status (*set_num_threads)(int);
} const functions = {lenslet_version,       lenslet_status_text,    lenslet_last_error,
                     lenslet_options_init,  lenslet_model_load,     lenslet_model_built_in,
                     lenslet_model_destroy, lenslet_model_device,   lenslet_model_device_name,
                     lenslet_read_digit,    lenslet_predict_u8,     lenslet_predict_f32,
                     lenslet_logits_u8,     lenslet_logits_f32,     lenslet_profile,
                     lenslet_model_plan,    lenslet_model_backends, lenslet_set_num_threads};

/* The structs of 0.1. Fields added to lenslet_options come after these; the other two cannot grow, because programs
 * have arrays of them. */
typedef struct {
  size_t size;
  const char *device, *plan, *backend, *math;
  size_t workspace_limit;
  int64_t max_batch;
} options_of_0_1;
typedef struct {
  int32_t label;
  float probability;
} prediction_of_0_1;
typedef struct {
  char name[32], backend[32], math[8];
  double median_ns, p10_ns, p90_ns;
} layer_time_of_0_1;

/* The options before `graph`. */
typedef struct {
  size_t size;
  const char *device, *plan, *backend, *math;
  size_t workspace_limit;
  int64_t max_batch;
  const char* images;
} options_before_graph;

const char* changed_abi(void) {
  options_of_0_1 old;
  struct {
    options_before_graph options;
    const char* behind;
  } later;
  lenslet_model* model = NULL;
#define SAME(holds) \
  if (!(holds)) return #holds
#define SAME_PLACE(type, field)                                             \
  SAME(offsetof(lenslet_##type, field) == offsetof(type##_of_0_1, field) && \
       sizeof(((lenslet_##type*)0)->field) == sizeof(((type##_of_0_1*)0)->field))
  SAME(functions.set_num_threads != NULL);
  SAME(LENSLET_OK == 0 && LENSLET_ERROR_USAGE == 2 && LENSLET_ERROR_DATA == 3 &&
       LENSLET_ERROR_UNAVAILABLE == 4);
  SAME(LENSLET_ERROR_DEVICE == 5 && LENSLET_ERROR_MEMORY == 6 && LENSLET_ERROR_INTERNAL == 70);
  SAME(LENSLET_SIDE == 28 && LENSLET_PIXELS == 784 && LENSLET_CLASSES == 10);
  SAME_PLACE(options, size);
  SAME_PLACE(options, device);
  SAME_PLACE(options, plan);
  SAME_PLACE(options, backend);
  SAME_PLACE(options, math);
  SAME_PLACE(options, workspace_limit);
  SAME_PLACE(options, max_batch);
  SAME(sizeof(lenslet_prediction) == sizeof(prediction_of_0_1));
  SAME_PLACE(prediction, label);
  SAME_PLACE(prediction, probability);
  SAME(sizeof(lenslet_layer_time) == sizeof(layer_time_of_0_1));
  SAME_PLACE(layer_time, name);
  SAME_PLACE(layer_time, backend);
  SAME_PLACE(layer_time, math);
  SAME_PLACE(layer_time, median_ns);
  SAME_PLACE(layer_time, p10_ns);
  SAME_PLACE(layer_time, p90_ns);
  /* A program with the shorter struct of 0.1. */
  SAME(lenslet_options_init((lenslet_options*)&old, sizeof old) == LENSLET_OK);
  SAME(old.size == sizeof old);
  old.device = "cpu";
  SAME(lenslet_model_built_in((const lenslet_options*)&old, &model) == LENSLET_OK);
  lenslet_model_destroy(model);
  /* And one with the struct before `graph`: nothing behind it is written or read. */
  later.behind = "nothing";
  SAME(offsetof(lenslet_options, graph) == sizeof later.options);
  SAME(lenslet_options_init((lenslet_options*)&later.options, sizeof later.options) == LENSLET_OK);
  SAME(later.options.size == sizeof later.options);
  SAME(strcmp(later.options.images, "check") == 0 && strcmp(later.behind, "nothing") == 0);
  later.options.device = "cpu";
  SAME(lenslet_model_built_in((const lenslet_options*)&later.options, &model) == LENSLET_OK);
  lenslet_model_destroy(model);
  return NULL;
}
