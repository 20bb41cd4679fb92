/*
 * lenslet.h: reads handwritten digits with LeNet-5 and runs networks of ONNX files, for programs in C and in languages
 * that call C.
 *
 * An image has 28 x 28 values in row-major order. The images of a call are contiguous. Bytes are 0 for background
 * and 255 for ink, as in MNIST. Floats are normalised: (x / 255 - mean) / std, with the mean and std of the weights
 * file's metadata; default 0.1307 and 0.3081. Images and answers are memory of the caller: host memory, or a GPU's
 * for the functions whose name ends in _device. On the CPU they are read and written in place. The library keeps no
 * pointer to them.
 *
 * Errors: a function that can fail returns a lenslet_status. lenslet_last_error() then returns one line: what was
 * expected, what was found and what to do. No C++ exception leaves the library. No function prints, exits or changes
 * signals.
 *
 * Threads: one thread at a time may use a model. Different threads may use different models at the same time, also on
 * one device. lenslet_last_error() is per thread. A forked process may use the CPU (docs/embedding.md).
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

/** Rows and columns of an image; values of an image; bytes of a packed one (lenslet_pack_u4); classes. */
#define LENSLET_SIDE 28
#define LENSLET_PIXELS (LENSLET_SIDE * LENSLET_SIDE)
#define LENSLET_PACKED_BYTES (LENSLET_PIXELS / 2)
#define LENSLET_CLASSES 10
/** Dimensions of a sample at most. */
#define LENSLET_MAX_RANK 8

/** The result of a call. The values are the exit codes of the command line, except INTERNAL, which has no exit code. */
typedef enum lenslet_status {
  LENSLET_OK = 0,
  LENSLET_ERROR_USAGE = 2,       /* null pointer, value out of range, or invalid option value */
  LENSLET_ERROR_DATA = 3,        /* invalid weights, plan or picture */
  LENSLET_ERROR_UNAVAILABLE = 4, /* the device, backend or math mode is unavailable or unsupported */
  LENSLET_ERROR_DEVICE = 5,      /* CUDA or a library failed while running; destroy the model */
  LENSLET_ERROR_MEMORY = 6,      /* out of memory, or over workspace_limit */
  LENSLET_ERROR_INTERNAL = 70    /* a defect of the library */
} lenslet_status;

/** A network with its weights on one device, or on several GPUs. Owned by the caller: lenslet_model_destroy(). */
typedef struct lenslet_model lenslet_model;

/**
 * Device, plan, backend and arithmetic of a model, with the values of the command line. Initialise it with
 * lenslet_options_init(). Fields left as initialised select the defaults. Null pointers are rejected.
 */
typedef struct lenslet_options {
  size_t size;            /* of this struct, as the caller was compiled: set by lenslet_options_init() */
  const char* device;     /* "auto", "cpu", "cuda", "cuda:N"; several: "cuda:all", "cuda:0,2" */
  const char* plan;       /* "auto", "layered", "fused", or the path of a plan saved as .json */
  const char* backend;    /* "direct", "conv1=direct,conv2=winograd"; with plan "fused" one of that plan */
  const char* math;       /* "fp32", "tf32", "fp16", "int8" */
  size_t workspace_limit; /* bytes, for each layer; SIZE_MAX: none */
  /** Images computed in one pass, 1 to 1,048,576; 0: 1,024 on the CPU, 65,536 on a GPU, fewer for a network with large
     layers. */
  int64_t max_batch;
  /** For lenslet_predict_* and lenslet_logits_*: "check" refuses dark ink on light paper, and floats that are not
     normalised or not finite; "invert" exchanges dark and bright, then checks; "any" takes all. */
  const char* images;
  /** Which passes a GPU replays as a captured CUDA graph: "auto", those of up to 256 images layer by layer; "on", each,
     refused on the CPU; "off", none. The second call with a number of images captures; if that fails, it returns the
     error, and later ones launch kernel by kernel. */
  const char* graph;
} lenslet_options;

/** The answer for one image. */
typedef struct lenslet_prediction {
  int32_t label;     /* 0 to 9 */
  float probability; /* 0 to 1; NaN if the image contains a NaN */
} lenslet_prediction;

/** Device time in nanoseconds of one layer of a pass; with a whole-network plan, of the whole pass. */
typedef struct lenslet_layer_time {
  char name[32];    /* "conv1"; "lenet5" for a whole-network plan */
  char backend[32]; /* the code that ran */
  char math[8];     /* "fp32"; empty for layers without products */
  double median_ns; /* over the passes measured */
  double p10_ns;    /* a tenth of the passes were faster */
  double p90_ns;    /* a tenth were slower */
} lenslet_layer_time;

/** Why a picture, or a mark in it, has no answer. A newer library may have more values. */
typedef enum lenslet_refusal {
  LENSLET_READ = 0,             /* it has one */
  LENSLET_REFUSED_BLANK = 1,    /* no ink */
  LENSLET_REFUSED_NO_DIGIT = 2, /* the model takes the mark for no digit */
  /** Too small beside the others: a point, a comma, a dash. Of a whole picture: a point of a thin pen, which is no mark
     of its own. */
  LENSLET_REFUSED_TOO_SMALL = 3,
  LENSLET_REFUSED_TOUCHING = 4,  /* a wide mark that no cut divides into digits */
  LENSLET_REFUSED_TEXTURE = 5,   /* too many marks, or noise */
  LENSLET_REFUSED_ROWS = 6,      /* marks in several rows */
  LENSLET_REFUSED_NO_NUMBER = 7, /* of a picture: one of its marks is refused */
  LENSLET_REFUSED_NOT_FINITE = 8 /* the model's output is not a number */
} lenslet_refusal;

/** Bits of lenslet_reading.warnings. A newer library may have more. */
#define LENSLET_WARNING_EDGE_LEFT_OUT 1u   /* a line, frame or shadow at the edge was left out */
#define LENSLET_WARNING_LITTLE_CONTRAST 2u /* the ink, or a part of it, hardly differs from the paper */
#define LENSLET_WARNING_TOUCHES_EDGE 4u    /* part of the ink may be outside the picture */
#define LENSLET_WARNING_SMALL 8u           /* a digit has few pixels */
#define LENSLET_WARNING_OFF_CENTRE 16u     /* the ink's centre of mass lies far from its middle */
#define LENSLET_WARNING_SEVERAL_MARKS 32u  /* marks that stand apart were taken as one digit */
#define LENSLET_WARNING_MARK_LEFT_OUT 64u  /* a line or a speck beside the digits was left out */
#define LENSLET_WARNING_BLANK 128u         /* no ink was found */
#define LENSLET_WARNING_TOUCHING 256u      /* a wide mark was cut into digits, or could have been */
#define LENSLET_WARNING_WIDE_GAP 512u      /* the digits may belong to several numbers */
#define LENSLET_WARNING_UNEVEN 1024u       /* the digits differ much in height */
#define LENSLET_WARNING_FAINT_MARK 2048u   /* a mark as high as the others was too faint to be read */
#define LENSLET_WARNING_SLANTED 4096u      /* a strongly slanted digit, or a stroke that may be a slash */
#define LENSLET_WARNING_UNCERTAIN 8192u    /* for a digit another one is about as likely */

/** A digit in a picture, or a mark that is refused. */
typedef struct lenslet_digit {
  int32_t label;               /* 0 to 9; -1 if refused */
  int32_t refusal;             /* lenslet_refusal */
  int32_t x, y, width, height; /* its box, pixels of the picture */
  float probability;           /* 0 to 1; NaN if refused */
  float energy;                /* compared with lenslet_model_energy_threshold() */
} lenslet_digit;

/** Most digits of a lenslet_reading. */
#define LENSLET_MAX_DIGITS 160

/** What a picture shows. Initialise it with lenslet_reading_init(). */
typedef struct lenslet_reading {
  size_t size;                              /* of this struct: set by lenslet_reading_init() */
  int32_t refusal;                          /* lenslet_refusal */
  uint32_t warnings;                        /* LENSLET_WARNING_*, of all, by bits */
  double probability;                       /* product of the digits' probabilities; NaN if refused */
  char number[LENSLET_MAX_DIGITS + 1];      /* "2026", from left to right; empty if refused */
  char message[511];                        /* why it is refused, then the warnings, separated by "; " */
  int64_t digit_count;                      /* marks found: 0 to LENSLET_MAX_DIGITS */
  lenslet_digit digits[LENSLET_MAX_DIGITS]; /* from left to right */
} lenslet_reading;

/** "0.2.0": MAJOR.MINOR.PATCH of the library, which may be newer than this header. */
LENSLET_API const char* lenslet_version(void);
/** A short text such as "unavailable"; "unknown status" for any other number. */
LENSLET_API const char* lenslet_status_text(lenslet_status status);
/** Message of this thread's last failed call, UTF-8; "" before the first. Valid until its next failed call. */
LENSLET_API const char* lenslet_last_error(void);

/** Sets the defaults. `size` is sizeof(lenslet_options): it identifies the caller's version of the struct. */
LENSLET_API lenslet_status lenslet_options_init(lenslet_options* options, size_t size);

/**
 * Makes a model from a safetensors or ONNX file, or from the weights compiled into the library. These are two sets:
 * "mnist", which lenslet_model_built_in() takes, and "robust", which reads people's pictures more accurately and
 * refuses those without a digit. The path of lenslet_model_load() may be such a name. A null `options` selects all
 * defaults. On failure *model is null.
 */
LENSLET_API lenslet_status lenslet_model_load(const char* path, const lenslet_options* options,
                                              lenslet_model** model);
LENSLET_API lenslet_status lenslet_model_built_in(const lenslet_options* options, lenslet_model** model);
/** Frees the model and its device memory. A null pointer is allowed. */
LENSLET_API void lenslet_model_destroy(lenslet_model* model);

/**
 * "cpu", "cuda:0" or "cuda:0,2"; "NVIDIA H200", "2 x NVIDIA H200" or the CPU's model. Valid as long as the model; null
 * for a null pointer.
 */
LENSLET_API const char* lenslet_model_device(const lenslet_model* model);
LENSLET_API const char* lenslet_model_device_name(const lenslet_model* model);

/**
 * The energy of an image is the log of the sum of its logits' exponentials. An image whose energy is not above this
 * threshold shows no digit. Read from the weights file's metadata. NaN without an entry or for a null model.
 */
LENSLET_API double lenslet_model_energy_threshold(const lenslet_model* model);

/**
 * The shape of one sample that the network reads and writes, without the batch: 1, 28, 28 and 10 for LeNet-5. Writes
 * the first `capacity` dimensions, outermost first, to `dims` and their number, at most LENSLET_MAX_RANK, to *rank.
 * `dims` may be null if the capacity is 0; `rank` may be null.
 */
LENSLET_API lenslet_status lenslet_model_input(const lenslet_model* model, int64_t* dims, size_t capacity,
                                               size_t* rank);
LENSLET_API lenslet_status lenslet_model_output(const lenslet_model* model, int64_t* dims, size_t capacity,
                                                size_t* rank);

/**
 * Runs any network on `count` samples; 0 is allowed. `inputs` are the values that the network reads, [count,
 * lenslet_model_input], not normalised by the library; `outputs` those that it writes, [count, lenslet_model_output].
 */
LENSLET_API lenslet_status lenslet_run(lenslet_model* model, const float* inputs, int64_t count,
                                       float* outputs);

/**
 * Reads a picture of one digit and converts it to the form of MNIST. The file is PNG, JPEG, BMP, PBM, PGM or PPM, up to
 * 64 Mi pixels, dark on light or light on dark. Writes LENSLET_PIXELS bytes to `pixels`, all 0 if no ink is found.
 */
LENSLET_API lenslet_status lenslet_read_digit(const char* path, uint8_t* pixels);

/**
 * Empties a reading; so does a read that fails. `size` is sizeof(lenslet_reading): it identifies the caller's version
 * of the struct.
 */
LENSLET_API lenslet_status lenslet_reading_init(lenslet_reading* reading, size_t size);

/**
 * Reads the number in a picture: one digit or several in a row, dark on light or light on dark. The formats are those
 * of lenslet_read_digit(). A picture of 28 x 28 pixels is one digit. A refused picture is no error: the call returns
 * LENSLET_OK and sets reading->refusal. Only a model with an energy threshold, such as "robust", refuses letters. The
 * network must read digits, as for lenslet_predict_u8(). lenslet_read_memory() takes the `size` bytes of such a file.
 */
LENSLET_API lenslet_status lenslet_read(lenslet_model* model, const char* path, lenslet_reading* reading);
LENSLET_API lenslet_status lenslet_read_memory(lenslet_model* model, const void* file, size_t size,
                                               lenslet_reading* reading);

/**
 * Classifies `count` images; 0 is allowed. This and lenslet_logits_* support networks that read 1 x 28 x 28 images
 * and write ten values in one dimension; for any other they return LENSLET_ERROR_DATA. They look at up to 64 images and
 * return LENSLET_ERROR_USAGE for those that options.images refuses. The first call with a number of images prepares the
 * model for that number; the last four preparations are kept, on the CPU more if they are small. After a failure the
 * contents of the output are undefined.
 */
LENSLET_API lenslet_status lenslet_predict_u8(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                              lenslet_prediction* predictions);
LENSLET_API lenslet_status lenslet_predict_f32(lenslet_model* model, const float* images, int64_t count,
                                               lenslet_prediction* predictions);
LENSLET_API lenslet_status lenslet_predict_u4(lenslet_model* model, const uint8_t* packed, int64_t count,
                                              lenslet_prediction* predictions);
/** Writes the values before softmax to `logits` [count, LENSLET_CLASSES]. */
LENSLET_API lenslet_status lenslet_logits_u8(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                             float* logits);
LENSLET_API lenslet_status lenslet_logits_f32(lenslet_model* model, const float* images, int64_t count,
                                              float* logits);
LENSLET_API lenslet_status lenslet_logits_u4(lenslet_model* model, const uint8_t* packed, int64_t count,
                                             float* logits);

/**
 * Packs `count` images of bytes to 4 bits a pixel, for the functions with _u4: LENSLET_PACKED_BYTES an image, half
 * of what a GPU's bus has to carry. The first of two pixels is in the low four bits. A pixel x becomes the code
 * (x + 8) / 17, rounded down; a code c stands for the grey 17 c. So packing rounds to the nearest of 16 greys, 8 away
 * at most, and some answers differ from those of the _u8 functions (docs/cli.md counts them).
 */
LENSLET_API lenslet_status lenslet_pack_u4(const uint8_t* pixels, int64_t count, uint8_t* packed);

/**
 * Page-locked host memory, which a GPU reads over the bus without a copy by the host: large calls run fastest from it.
 * Every function for host memory takes it. `*memory` is null for 0 bytes and after a failure;
 * LENSLET_ERROR_UNAVAILABLE without a usable GPU. lenslet_host_free() takes what lenslet_host_alloc() gave, and null.
 */
LENSLET_API lenslet_status lenslet_host_alloc(size_t bytes, void** memory);
LENSLET_API void lenslet_host_free(void* memory);

/**
 * lenslet_predict_*, lenslet_logits_* and lenslet_run for memory of the model's GPU, aligned to 16 bytes. `stream` is
 * a cudaStream_t; null is the default stream. A call enqueues its work after that of the stream and returns
 * LENSLET_OK: it waits for nothing and copies nothing to or from the host, and a failure of the work itself is
 * reported by a later call.
 * The first call with a number of images prepares the model for that number, which allocates; so does the second with
 * the same memory if it captures the pass (options.graph). The stream may record a CUDA graph once the same call has
 * been made outside of it; the model must outlive the graph, and calls in one graph must depend on each other. The
 * images are not looked at; options.images "invert" is LENSLET_ERROR_UNAVAILABLE, and so is a plan that does not itself
 * read what is passed and write what is wanted: "layered" reads and writes floats, as lenslet_logits_f32_device() and
 * lenslet_run_device() do. Memory that is not aligned, of the host or of another GPU is LENSLET_ERROR_USAGE.
 */
LENSLET_API lenslet_status lenslet_predict_device(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                                  lenslet_prediction* predictions, void* stream);
LENSLET_API lenslet_status lenslet_predict_f32_device(lenslet_model* model, const float* images,
                                                      int64_t count, lenslet_prediction* predictions,
                                                      void* stream);
LENSLET_API lenslet_status lenslet_predict_u4_device(lenslet_model* model, const uint8_t* packed,
                                                     int64_t count, lenslet_prediction* predictions,
                                                     void* stream);
LENSLET_API lenslet_status lenslet_logits_device(lenslet_model* model, const uint8_t* pixels, int64_t count,
                                                 float* logits, void* stream);
LENSLET_API lenslet_status lenslet_logits_f32_device(lenslet_model* model, const float* images, int64_t count,
                                                     float* logits, void* stream);
LENSLET_API lenslet_status lenslet_logits_u4_device(lenslet_model* model, const uint8_t* packed,
                                                    int64_t count, float* logits, void* stream);
LENSLET_API lenslet_status lenslet_run_device(lenslet_model* model, const float* inputs, int64_t count,
                                              float* outputs, void* stream);

/**
 * Times the layers in passes of `batch` (1 to 1,048,576) images, for at least `min_time_ms` (0 to 600,000). With
 * options.plan "auto" the pass is layered; with "fused" the whole network is the only layer. Writes the first
 * `capacity` layers to `layers`, the number of layers to *layer_count and the median time of a whole pass to *total_ns.
 * `layers` may be null if the capacity is 0; the other two may be null. LeNet-5 has at most 11 layers. Names
 * of 32 bytes or more are cut.
 */
LENSLET_API lenslet_status lenslet_profile(lenslet_model* model, int64_t batch, double min_time_ms,
                                           lenslet_layer_time* layers, size_t capacity, size_t* layer_count,
                                           double* total_ns);

/**
 * Each writes a text of at most `capacity` bytes, NUL included, and the full length without the NUL to *length. The
 * text is truncated if *length >= capacity. `text` may be null if the capacity is 0; `length` may be null.
 *   plan: the plan of a pass of `batch` images,
 *         bytes in and predictions out, as JSON.
 *         Saved as a file it is a value of options.plan.
 *   backends: one line per layer and backend, "layer TAB backend TAB reason".
 *             The reason is empty if the backend supports a pass of `batch` images on the model's device.
 *             The whole-network backends belong to layer "lenet5".
 *   shares: of a model on several devices one line per device, "cuda:0 TAB images TAB fault": the images of host
 *           memory that it computed so far. The fault is why it failed, empty if it did not. The text is empty for one
 *           device.
 */
LENSLET_API lenslet_status lenslet_model_plan(lenslet_model* model, int64_t batch, char* text,
                                              size_t capacity, size_t* length);
LENSLET_API lenslet_status lenslet_model_backends(lenslet_model* model, int64_t batch, char* text,
                                                  size_t capacity, size_t* length);
LENSLET_API lenslet_status lenslet_model_shares(const lenslet_model* model, char* text, size_t capacity,
                                                size_t* length);

/**
 * Sets the number of CPU threads, 1 to 1,024, including the caller; all models of the process share them. Default:
 * LENSLET_NUM_THREADS, else the cores that the process may run on. Do not call it while another thread computes.
 */
LENSLET_API lenslet_status lenslet_set_num_threads(int count);

#ifdef __cplusplus
}
#endif

#endif
