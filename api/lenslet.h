/*
 * lenslet.h: handwritten digits by LeNet-5, for programs in C and for whatever can call C.
 *
 * A picture is 28 x 28, row by row; pictures of a call follow each other without gaps. Bytes have the ink bright on 0, as
 * MNIST has it; floats are normalised, (x / 255 - mean) / std with the mean and std of the weights file's metadata, or
 * 0.1307 and 0.3081 without them and for the built-in weights. All memory is the host's and the caller's: on the CPU it
 * is read and written in place, nothing of it is kept.
 *
 * Errors: a function that can fail returns a lenslet_status; lenslet_last_error() then has one line that says what was
 * expected, what was found and what to do. No C++ exception leaves the library. No function prints, exits or changes signals.
 *
 * Threads: one thread at a time for one model. Different models may be used by different threads at the same time, also on
 * one device. lenslet_last_error() is the calling thread's own. A forked process may use the CPU (docs/embedding.md).
 *
 * Needs C89 with <stdint.h>, or any C++.
 */
#ifndef LENSLET_H
#define LENSLET_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LENSLET_API __attribute__((visibility("default")))
#else
#define LENSLET_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Sides of a picture, values of a picture, classes. */
#define LENSLET_SIDE 28
#define LENSLET_PIXELS (LENSLET_SIDE * LENSLET_SIDE)
#define LENSLET_CLASSES 10

/** What became of a call. The values are the exit codes of the command line, save for the last, which it has not. */
typedef enum lenslet_status {
  LENSLET_OK = 0,
  LENSLET_ERROR_USAGE = 2,       /* an argument or an option that says nothing */
  LENSLET_ERROR_DATA = 3,        /* a file that is not what it should be */
  LENSLET_ERROR_UNAVAILABLE = 4, /* a device, backend or math mode that cannot serve here */
  LENSLET_ERROR_DEVICE = 5,      /* CUDA or a library failed while running; destroy the model */
  LENSLET_ERROR_MEMORY = 6,      /* out of memory, or over workspace_limit */
  LENSLET_ERROR_INTERNAL = 70    /* a defect of the library */
} lenslet_status;

/** A model on its device. */
typedef struct lenslet_model lenslet_model;

/**
 * Where and how a model computes, in the words of the command line. A field that lenslet_options_init() has set and nobody
 * changed asks for nothing; a null pointer does neither.
 */
typedef struct lenslet_options {
  size_t size;            /* of this struct, as the caller was compiled: set by lenslet_options_init() */
  const char* device;     /* "auto", "cpu", "cuda", "cuda:N" */
  const char* plan;       /* "auto", "layered", "fused", or the path of a plan saved as .json */
  const char* backend;    /* "direct", "conv1=direct,conv2=winograd"; with plan "fused" one of its variants */
  const char* math;       /* "fp32", "tf32", "fp16" */
  size_t workspace_limit; /* bytes, for each layer; SIZE_MAX: none */
  int64_t max_batch; /* pictures computed in one pass, 1 to 1,048,576; 0: 1,024 on the CPU, 65,536 on a GPU */
} lenslet_options;

/** What the model says of one picture: class 0 to 9 and the probability it gives to it. */
typedef struct lenslet_prediction {
  int32_t label;     /* 0 to 9 */
  float probability; /* 0 to 1; NaN where a NaN was among the picture's values */
} lenslet_prediction;

/** Device time of one layer of a pass, or of the whole pass where the plan is fused; nanoseconds. */
typedef struct lenslet_layer_time {
  char name[32];    /* "conv1", or "lenet5" of a fused plan */
  char backend[32]; /* the code that ran */
  char math[8];     /* "fp32"; empty where it means nothing */
  double median_ns; /* over the passes measured */
  double p10_ns;    /* a tenth of the passes were faster */
  double p90_ns;    /* a tenth were slower */
} lenslet_layer_time;

/** "0.1.0". */
LENSLET_API const char* lenslet_version(void);
/** "unavailable"; "unknown status" for a number that is none. */
LENSLET_API const char* lenslet_status_text(lenslet_status status);
/** Of the last call of this thread that failed; "" before that. Valid until the thread's next call that fails. UTF-8. */
LENSLET_API const char* lenslet_last_error(void);

/** Fills in the defaults. `size` is sizeof(lenslet_options): a library of another version knows the caller's by it. */
LENSLET_API lenslet_status lenslet_options_init(lenslet_options* options, size_t size);

/**
 * Makes a model with the weights of a safetensors file, or with those compiled into the library. `options` may be null: all
 * defaults. *model is null where it fails.
 */
LENSLET_API lenslet_status lenslet_model_load(const char* path, const lenslet_options* options,
                                              lenslet_model** model);
LENSLET_API lenslet_status lenslet_model_built_in(const lenslet_options* options, lenslet_model** model);
/** A null pointer is allowed. */
LENSLET_API void lenslet_model_destroy(lenslet_model* model);

/** "cpu" or "cuda:0"; "NVIDIA H200" or the CPU's model. They live as long as the model; null for a null pointer. */
LENSLET_API const char* lenslet_model_device(const lenslet_model* model);
LENSLET_API const char* lenslet_model_device_name(const lenslet_model* model);

/**
 * Reads a picture of one digit (PNG, JPEG, BMP, PBM, PGM or PPM, any size to 64 Mi pixels, dark on light or light on dark) and
 * prepares it as MNIST's were: `pixels` gets LENSLET_PIXELS bytes, all 0 where no ink was found.
 */
LENSLET_API lenslet_status lenslet_read_digit(const char* path, uint8_t* pixels);

/**
 * Classifies `count` pictures, 0 to as many as memory holds. The first call with a number of pictures prepares for it, and
 * a few such preparations are kept. What is written after a failure is undefined.
 */
LENSLET_API lenslet_status lenslet_predict_u8(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                              lenslet_prediction* predictions);
LENSLET_API lenslet_status lenslet_predict_f32(lenslet_model* model, const float* images, int64_t count,
                                               lenslet_prediction* predictions);
/** The LENSLET_CLASSES values before softmax of each picture: `logits` has count * LENSLET_CLASSES. */
LENSLET_API lenslet_status lenslet_logits_u8(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                             float* logits);
LENSLET_API lenslet_status lenslet_logits_f32(lenslet_model* model, const float* images, int64_t count,
                                              float* logits);

/**
 * Times a pass of `batch` (1 to 1,048,576) pictures for at least `min_time_ms` (0 to 600,000). Writes the first `capacity`
 * layers to `layers`, how many there are to *layer_count and the time of a whole pass to *total_ns. `layers` may be null
 * with a capacity of 0; the other two may be null. LeNet-5 has 11 layers at most.
 */
LENSLET_API lenslet_status lenslet_profile(lenslet_model* model, int64_t batch, double min_time_ms,
                                           lenslet_layer_time* layers, size_t capacity, size_t* layer_count,
                                           double* total_ns);

/**
 * Texts. Each writes what `capacity` holds, closed by a NUL, and the length of the whole without the NUL to *length: it was
 * cut where that is not less than the capacity. `text` may be null with a capacity of 0, `length` may be null.
 *   plan: how a pass of `batch` pictures, bytes in and predictions out, is computed: JSON that options.plan takes as a file
 *   backends: a line for each layer and backend, "layer TAB backend TAB reason"; the reason is empty where it can serve a
 *             pass of `batch` pictures on the model's device. A fused plan's variants are those of layer "lenet5".
 */
LENSLET_API lenslet_status lenslet_model_plan(lenslet_model* model, int64_t batch, char* text,
                                              size_t capacity, size_t* length);
LENSLET_API lenslet_status lenslet_model_backends(lenslet_model* model, int64_t batch, char* text,
                                                  size_t capacity, size_t* length);

/**
 * Threads that the CPU side of all models of this process shares, the caller included: 1 to 1,024. At first
 * LENSLET_NUM_THREADS, else the cores that the process may run on. Not while another thread computes.
 */
LENSLET_API lenslet_status lenslet_set_num_threads(int count);

#ifdef __cplusplus
}
#endif

#endif
