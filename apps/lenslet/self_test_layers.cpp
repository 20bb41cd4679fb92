#include "apps/lenslet/self_test_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "apps/common/signals.h"
#include "framework/error.h"
#include "framework/stream.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/gemm/gemm.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"
#include "layers/reference/reference.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;
using Values = std::vector<float>;

constexpr std::array<MathMode, 3> kMathModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16};
constexpr double kRoundoff = 0x1p-24;
constexpr double kSoftmaxScale = 10;  // logits of a trained model are about that large

Values filled(bool integers, int64_t count, uint64_t seed) {
  const auto size = static_cast<size_t>(count);
  return integers ? reference::small_integers(size, seed) : reference::uniform_values(size, seed);
}

Tensor host_tensor(const Shape& shape, const Values& values) {
  Tensor tensor(shape);
  std::memcpy(tensor.data(), values.data(), shape.bytes());
  return tensor;
}

/// Enqueues one computation: inputs, output, what it may use.
using Enqueue = std::function<void(const std::vector<const float*>&, float*, RunContext&)>;

/// Two runs among canaries, on memory filled with a NaN and with another pattern. Empty, or what is wrong.
std::string run_guarded(Stream& stream, const std::vector<Values>& inputs, size_t workspace_bytes,
                        const Enqueue& enqueue, Values& y) {
  std::vector<size_t> blocks = {y.size() * sizeof(float), workspace_bytes};
  for (const Values& input : inputs) blocks.push_back(input.size() * sizeof(float));
  GuardedMemory memory(stream.device(), blocks);
  std::vector<const float*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i)
    pointers.push_back(static_cast<const float*>(memory.block(2 + i)));
  Values first;
  for (const int byte : {GuardedMemory::kNanByte, GuardedMemory::kMarkByte}) {
    memory.poison(byte, stream);
    for (size_t i = 0; i < inputs.size(); ++i) memory.upload(2 + i, inputs[i].data(), stream);
    RunContext context{stream, workspace_bytes > 0 ? memory.block(1) : nullptr, nullptr};
    enqueue(pointers, static_cast<float*>(memory.block(0)), context);
    stream.synchronize();
    memory.download(0, y.data(), stream);
    const std::string damage = memory.damage(byte, stream);
    if (!damage.empty()) return damage + " (blocks: 0 output, 1 workspace, then inputs)";
    if (first.empty()) first = y;
  }
  return std::memcmp(first.data(), y.data(), y.size() * sizeof(float)) == 0 ? std::string()
                                                                            : "two runs differ";
}

/// Allowed deviation of each output.
using Bounds = std::function<double(size_t)>;

// Adds a run to the row, which stays PASSED while all of its runs are right.
void judge(ResultRow& row, const std::string& what, const std::string& damage, const Values& y,
           const reference::Result& expected, const Bounds& bound) {
  if (row.status == "FAILED") return;
  reference::Comparison comparison;
  for (size_t i = 0; i < y.size(); ++i) {
    comparison.add(static_cast<int64_t>(i), y[i], expected.values[i], bound(i));
  }
  if (!row.error) row.error.emplace();
  row.error->checked += comparison.checked();
  row.error->max_abs = std::max(row.error->max_abs, comparison.max_abs());
  row.error->max_rel = std::max(row.error->max_rel, comparison.max_rel());
  row.error->bound = std::max(row.error->bound, comparison.bound());
  const bool right = damage.empty() && comparison.passed() && y.size() == expected.values.size();
  row.status = right ? "PASSED" : "FAILED";
  row.reason = right ? "" : concat(what, ": ", damage.empty() ? comparison.reason() : damage);
  row.repro = right ? "bitwise" : "";
}

// A matrix product is a convolution of single pixels: the same sum, the same bound.
double sum_factor(int64_t terms, MathMode math) {
  Conv2dProblem problem;
  problem.c = static_cast<int>(terms);
  return accuracy_of_sums(problem, math).factor(terms + 1);
}

/// One layer at one shape, with one kind of data.
struct LayerCase {
  std::unique_ptr<Layer> layer;
  std::string fill;
  Shape input;
  Values x;
  reference::Result expected;
  std::function<double(size_t, MathMode)> bound;
};

/// A problem and its cases: one row for each backend and math mode.
struct LayerSubject {
  std::string problem;
  std::vector<LayerCase> cases;
};

std::string fill_name(bool integers) { return integers ? "integers" : "random"; }

LayerSubject linear_subject(int64_t samples, int64_t inputs, int64_t outputs, uint64_t seed) {
  LayerSubject subject{concat("linear ", samples, "x", inputs, " -> ", outputs), {}};
  for (const bool integers : {true, false}) {
    const Values w = filled(integers, inputs * outputs, seed + 1), b = filled(integers, outputs, seed + 2);
    LayerCase test{
        std::make_unique<LinearLayer>(host_tensor({outputs, inputs}, w), host_tensor({outputs}, b)),
        fill_name(integers),
        {samples, inputs},
        filled(integers, samples * inputs, seed),
        {},
        {}};
    test.expected = reference::linear(test.input, test.x.data(), outputs, w.data(), b.data());
    test.bound = [inputs, integers, sums = test.expected.magnitudes](size_t i, MathMode math) {
      return integers ? 0.0 : sum_factor(inputs, math) * sums[i];
    };
    subject.cases.push_back(std::move(test));
  }
  return subject;
}

enum class Pooling { kMax, kAverage, kAverageInside };

LayerSubject pool_subject(Pooling kind, const Shape& input, const Pool2dWindow& w, uint64_t seed) {
  LayerSubject subject;
  const reference::PoolWindow judged{w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_h, w.pad_w};
  const double terms = static_cast<double>(w.kernel_h) * w.kernel_w;
  for (const bool integers : {true, false}) {
    LayerCase test;
    test.fill = fill_name(integers);
    test.input = input;
    test.x = filled(integers, input.num_elements(), seed);
    if (kind == Pooling::kMax) {
      test.layer = std::make_unique<MaxPool2dLayer>(w);
      test.expected = reference::max_pool2d(input, test.x.data(), judged);
      test.bound = [](size_t, MathMode) { return 0.0; };
    } else {
      const bool padding = kind == Pooling::kAverage;
      test.layer = std::make_unique<AvgPool2dLayer>(w, padding);
      test.expected = reference::avg_pool2d(input, test.x.data(), judged, padding);
      // A sum, then a division.
      test.bound = [terms, sums = test.expected.magnitudes](size_t i, MathMode) {
        return 1.01 * kRoundoff * (terms + 1) * sums[i];
      };
    }
    subject.problem = concat(test.layer->type(), " ", input.to_string(), ", ", test.layer->describe());
    subject.cases.push_back(std::move(test));
  }
  return subject;
}

LayerSubject relu_subject(const Shape& input, uint64_t seed) {
  LayerCase test{
      std::make_unique<ReluLayer>(),       "random", input, filled(false, input.num_elements(), seed), {},
      [](size_t, MathMode) { return 0.0; }};
  test.expected = reference::relu(input, test.x.data());
  LayerSubject subject{"relu " + input.to_string(), {}};
  subject.cases.push_back(std::move(test));
  return subject;
}

LayerSubject softmax_subject(const Shape& input, uint64_t seed) {
  LayerCase test{std::make_unique<SoftmaxLayer>(),          "random", input,
                 filled(false, input.num_elements(), seed), {},       {}};
  for (float& value : test.x) value *= static_cast<float>(kSoftmaxScale);
  test.expected = reference::softmax(input, test.x.data());
  // An exponential within 2 ulp of an argument that carries the rounding of a difference, a sum of `classes` of them, a
  // division. What lies below the smallest normal number may become 0.
  const double relative = kRoundoff * (2 * (4 + 2 * kSoftmaxScale) + static_cast<double>(input[-1]) + 1);
  test.bound = [relative, values = test.expected.values](size_t i, MathMode) {
    return relative * values[i] + 0x1p-126;
  };
  LayerSubject subject{"softmax " + input.to_string(), {}};
  subject.cases.push_back(std::move(test));
  return subject;
}

// LeNet's layers, and odd shapes beside them.
std::vector<LayerSubject> layer_subjects(uint64_t seed) {
  std::vector<LayerSubject> subjects;
  const int64_t linear[][3] = {{5, 256, 120}, {5, 120, 84}, {5, 84, 10}, {3, 31, 17}, {1, 1, 1}};
  for (const auto& [samples, inputs, outputs] : linear)
    subjects.push_back(linear_subject(samples, inputs, outputs, seed));
  const Pool2dWindow halves = Pool2dWindow::square(2, 2), padded = Pool2dWindow::square(3, 2, 1);
  for (const Pooling kind : {Pooling::kMax, Pooling::kAverage, Pooling::kAverageInside}) {
    subjects.push_back(pool_subject(kind, {3, 6, 24, 24}, halves, seed));
    subjects.push_back(pool_subject(kind, {3, 16, 8, 8}, halves, seed));
    subjects.push_back(pool_subject(kind, {2, 3, 7, 13}, padded, seed));
    subjects.push_back(pool_subject(kind, {1, 5, 5, 4}, {2, 3, 1, 2, 1, 0}, seed));
  }
  for (const Shape& shape : {Shape{3, 6, 24, 24}, Shape{1, 7, 3, 5}})
    subjects.push_back(relu_subject(shape, seed));
  for (const Shape& shape : {Shape{3, 10}, Shape{7, 17}, Shape{1, 1}})
    subjects.push_back(softmax_subject(shape, seed));
  return subjects;
}

ResultRow row_of(Device device, std::string_view type, const std::string& backend) {
  ResultRow row;
  row.name = concat(device.to_string(), " ", type, " ", backend);
  row.backend = backend;
  return row;
}

// One case of a layer by one backend, without and with a fused ReLU. False where the backend refuses.
bool run_case(const LayerCase& test, const std::string& backend, MathMode math,
              const SelfTestOptions& options, Stream& stream, ResultRow& row) {
  for (const bool relu : {false, true}) {
    if (relu && !test.layer->can_fuse_relu(backend, options.device.kind)) continue;
    OperatorRequest request;
    request.device = options.device;
    request.inputs = {test.input};
    request.output = test.layer->infer_shape({test.input});
    request.math = math;
    request.fuse_relu = relu;
    request.workspace_limit = options.workspace_limit;
    if (const Support support = test.layer->supports(backend, request); !support) {
      row.status = support.code() == ExitCode::kMemory ? "SKIPPED" : "UNSUPPORTED";
      row.reason = support.reason();
      return false;
    }
    const std::unique_ptr<Operator> op = test.layer->prepare(backend, request, stream);
    row.detail = op->detail();
    Values y(static_cast<size_t>(request.output.num_elements()));
    const std::string damage = run_guarded(
        stream, {test.x}, op->workspace_bytes(),
        [&](const std::vector<const float*>& inputs, float* output, RunContext& context) {
          op->run({{inputs[0], test.input, options.device}}, {output, request.output, options.device},
                  context);
        },
        y);
    reference::Result expected = test.expected;
    if (relu) {
      for (double& value : expected.values) value = std::max(value, 0.0);
    }
    judge(row, concat(test.fill, relu ? ", relu" : ""), damage, y, expected,
          [&](size_t i) { return test.bound(i, math); });
  }
  return true;
}

/// A matrix product in logical order, and as its transposes store it.
struct GemmCase {
  int m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
};

// conv2's im2col at four images, then odd sizes with every transpose.
constexpr GemmCase kGemmCases[] = {{16, 256, 150},
                                   {120, 5, 256, false, true},
                                   {7, 13, 31, false, false},
                                   {7, 13, 31, true, false},
                                   {7, 13, 31, false, true},
                                   {7, 13, 31, true, true},
                                   {1, 1, 1}};

Values transposed(const Values& values, int rows, int columns) {
  Values out(values.size());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c)
      out[static_cast<size_t>(c * rows + r)] = values[static_cast<size_t>(r * columns + c)];
  }
  return out;
}

void run_gemm(Gemm& gemm, const GemmCase& test, MathMode math, uint64_t seed, Stream& stream,
              ResultRow& row) {
  for (const bool integers : {true, false}) {
    const Values a = filled(integers, int64_t{test.m} * test.k, seed),
                 b_transposed = filled(integers, int64_t{test.n} * test.k, seed + 1);
    GemmProblem problem;
    problem.m = test.m;
    problem.n = test.n;
    problem.k = test.k;
    problem.transpose_a = test.transpose_a;
    problem.transpose_b = test.transpose_b;
    problem.lda = test.transpose_a ? test.m : test.k;
    problem.ldb = test.transpose_b ? test.k : test.n;
    problem.ldc = test.n;
    const reference::Result expected =
        reference::linear({test.m, test.k}, a.data(), test.n, b_transposed.data(), nullptr);
    Values c(expected.values.size());
    const std::string damage = run_guarded(
        stream,
        {test.transpose_a ? transposed(a, test.m, test.k) : a,
         test.transpose_b ? b_transposed : transposed(b_transposed, test.n, test.k)},
        gemm.workspace_bytes(),
        [&](const std::vector<const float*>& inputs, float* output, RunContext& context) {
          gemm.run(problem, {inputs[0], inputs[1], output}, context.workspace, context);
        },
        c);
    const double factor = sum_factor(test.k, math);
    judge(row, fill_name(integers), damage, c, expected,
          [&](size_t i) { return integers ? 0.0 : factor * expected.magnitudes[i]; });
  }
}

/// Collects rows until a signal or a fault ends it.
class Collector {
 public:
  void add(ResultRow row, const std::function<void(ResultRow&)>& test) {
    if (over()) return;
    run_row(row, [&] { test(row); });
    rows_.push_back(std::move(row));
  }
  // After a CUDA fault every later call fails as well: more rows would only repeat it.
  bool over() const { return interrupted() || (!rows_.empty() && rows_.back().status == "ERROR"); }
  std::vector<ResultRow> take() { return std::move(rows_); }

 private:
  std::vector<ResultRow> rows_;
};

void test_layers(const SelfTestOptions& options, Stream& stream, Collector& rows) {
  for (const LayerSubject& subject : layer_subjects(options.seed)) {
    const Layer& layer = *subject.cases[0].layer;
    for (const std::string& backend : layer.backends(options.device.kind)) {
      for (const MathMode math : kMathModes) {
        if (!layer.uses_math() && math != MathMode::kFp32) continue;
        ResultRow row = row_of(options.device, layer.type(), backend);
        row.problem = subject.problem;
        if (layer.uses_math()) row.math = to_string(math);
        rows.add(std::move(row), [&](ResultRow& filled_in) {
          for (const LayerCase& test : subject.cases) {
            if (!run_case(test, backend, math, options, stream, filled_in)) return;
          }
        });
      }
    }
  }
}

void test_gemm(const SelfTestOptions& options, Stream& stream, Collector& rows) {
  const bool cuda = options.device.is_cuda();
  const std::vector<std::string> names =
      cuda ? std::vector<std::string>{"cublas"} : std::vector<std::string>{"onednn", "blocked"};
  for (const std::string& name : names) {
    const GemmProvider* provider = nullptr;
    std::string missing;
    try {
      provider = cuda ? &gemm_provider(options.device.kind) : &cpu_gemm_provider(name);
    } catch (const UnavailableError& error) {
      missing = error.what();
    }
    if (provider == nullptr) {
      rows.add(row_of(options.device, "gemm", name), [&](ResultRow& row) {
        row.status = "SKIPPED";
        row.reason = missing;
      });
      continue;
    }
    for (const GemmCase& test : kGemmCases) {
      for (const MathMode math : kMathModes) {
        ResultRow row = row_of(options.device, "gemm", name);
        row.problem = concat("gemm ", test.m, "x", test.n, "x", test.k, test.transpose_a ? " A'" : "",
                             test.transpose_b ? " B'" : "");
        row.math = to_string(math);
        rows.add(std::move(row), [&](ResultRow& filled_in) {
          if (const Support support = provider->supports(math); !support) {
            filled_in.status = "UNSUPPORTED";
            filled_in.reason = support.reason();
            return;
          }
          const std::unique_ptr<Gemm> gemm = provider->prepare(math, stream);
          filled_in.detail = gemm->describe();
          run_gemm(*gemm, test, math, options.seed, stream, filled_in);
        });
      }
    }
  }
}

std::vector<ResultRow> skipped_rows(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  const auto skip = [&](std::string_view type, const std::string& backend) {
    rows.push_back(row_of(options.device, type, backend));
    rows.back().status = "SKIPPED";
    rows.back().reason = options.why_not;
  };
  std::string last;
  for (const LayerSubject& subject : layer_subjects(options.seed)) {
    const Layer& layer = *subject.cases[0].layer;
    if (layer.type() == last) continue;
    last = layer.type();
    for (const std::string& backend : layer.backends(options.device.kind)) skip(layer.type(), backend);
  }
  skip("gemm", "cublas");
  return rows;
}

}  // namespace

void run_row(ResultRow& row, const std::function<void()>& test) {
  const auto ended = [&](const char* status, const Error& error) {
    row.status = status;
    row.reason = error.what();
    row.repro.clear();
  };
  try {
    test();
  } catch (const UnavailableError& error) {
    ended("UNSUPPORTED", error);
  } catch (const MemoryError& error) {
    ended("SKIPPED", error);
  } catch (const DeviceError& error) {
    ended("ERROR", error);
  }
}

std::vector<ResultRow> layer_self_test(const SelfTestOptions& options) {
  if (!options.usable) return skipped_rows(options);
  DeviceGuard guard(options.device);
  Stream stream(options.device);
  Collector rows;
  test_layers(options, stream, rows);
  test_gemm(options, stream, rows);
  return rows.take();
}

}  // namespace lenslet
