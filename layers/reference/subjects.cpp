#include "layers/reference/subjects.h"

#include <algorithm>
#include <optional>

#include "layers/conv/conv_layer.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"
#include "layers/reference/conv_verify.h"
#include "layers/reference/fill.h"
#include "layers/reference/gemm_subject.h"
#include "layers/reference/layer_subject.h"

namespace lenslet::reference {
namespace {

// LeNet's two convolutions, and shapes that catch further mistakes: odd sizes, stride and padding that differ in h and
// w, dilation, groups, a single pixel.
constexpr const char* kShortConvolutions[] = {
    "mb3ic1ih28oc6kh5n\"conv1\"",      "mb3ic6ih12oc16kh5n\"conv2\"",
    "mb1ic3ih17iw13oc5kh3ph1n\"odd\"", "mb2ic4ih11iw19oc7kh3kw5sh2sw1ph1pw2n\"uneven\"",
    "mb1ic8ih15oc8kh3dh1n\"dilated\"", "g4mb2ic8ih9oc12kh3ph1n\"grouped\"",
    "mb5ic2ih1oc3kh1n\"pixel\"",
};

// Lists whose problems are run many times, with one image, in both layouts.
constexpr const char* kRepeatedLists[] = {"rgb3x3", "deep3x3", "tails", "regress", "depthwise", "pointwise"};

std::shared_ptr<const Layer> conv_layer(const Conv2dProblem& problem) {
  const auto random_tensor = [](const Shape& shape, uint64_t seed) {
    return Tensor(shape, uniform_values(static_cast<size_t>(shape.num_elements()), seed));
  };
  return std::make_shared<const Conv2dLayer>(problem, random_tensor(problem.weight_shape(), 1),
                                             random_tensor(Shape{problem.k}, 2));
}

/// A convolution, alone or with the pooling that follows it.
class ConvSubject : public Subject {
 public:
  explicit ConvSubject(const Conv2dProblem& problem, ConvVerifyOptions options = {})
      : conv_(problem), options_(options), text_(problem.to_string()) {}
  std::string_view operation() const override { return "conv2d"; }
  const std::string& problem() const override { return text_; }
  std::string fused() const override {
    if (!options_.max_pool) return {};
    return concat("max pool ", options_.max_pool->r, "x", options_.max_pool->s);
  }
  bool uses_math() const override { return true; }
  std::vector<std::string> backends(DeviceKind kind) const override { return conv_table().names(kind); }
  void open(DeviceKind kind, const std::string& backend) const override {
    find_conv_backend(kind, backend).open();
  }
  bool offered(DeviceKind kind, const std::string& backend, MathMode math) const override {
    if (!options_.max_pool) return true;
    const ConvBackend& opened = find_conv_backend(kind, backend).open();
    return opened.supports(conv_, math) && opened.fuses_max_pool(conv_, math, *options_.max_pool);
  }
  std::shared_ptr<const Layer> layer() const override { return conv_layer(conv_); }
  std::vector<Shape> inputs() const override { return {conv_.input_shape()}; }

 private:
  VerifyResult judge(const std::string& backend, MathMode math, Stream& stream,
                     int64_t /*shift*/) const override {
    const ConvBackend& opened = find_conv_backend(stream.device().kind, backend).open();
    if (const Support support = opened.supports(conv_, math); !support)
      throw UnavailableError(support.reason());
    if (!verifier_) verifier_.emplace(conv_, options_);  // generating its data takes longer than a refusal
    return verifier_->verify(opened, math, stream);
  }

  Conv2dProblem conv_;
  ConvVerifyOptions options_;
  std::string text_;
  mutable std::optional<ConvVerifier> verifier_;  // of all backends
};

/// A Pool2dWindow by the names of its settings, each of rows, then of columns; stride 1 and no padding unless set.
class Window {
 public:
  Window(int r, int s) {
    window_.r = r;
    window_.s = s;
    stride(1, 1);
  }
  Window& stride(int h, int w) {
    window_.stride_h = h;
    window_.stride_w = w;
    return *this;
  }
  Window& pad(int h, int w) {
    window_.pad_h = h;
    window_.pad_w = w;
    return *this;
  }
  Window& more_pad(int h, int w) {
    window_.more_pad_h = h;
    window_.more_pad_w = w;
    return *this;
  }
  Window& dilation(int h, int w) {
    window_.dilation_h = h;
    window_.dilation_w = w;
    return *this;
  }
  Window& ceil() {
    window_.ceil = true;
    return *this;
  }
  operator Pool2dWindow() const { return window_; }

 private:
  Pool2dWindow window_;
};

template <typename Made>
void add(Subjects& subjects, Made made) {
  subjects.push_back(std::make_unique<Made>(std::move(made)));
}

constexpr Pooling kPoolings[] = {Pooling::kMax, Pooling::kAverage, Pooling::kAverageInside};

void add_short_convolutions(Subjects& subjects, SubjectOptions options) {
  for (const char* text : kShortConvolutions) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    ConvVerifyOptions verify;
    verify.seed = options.seed;
    verify.workspace_limit = options.workspace_limit;
    add(subjects, ConvSubject(problem, verify));
    if (problem.p() < 2 || problem.q() < 2) continue;
    verify.max_pool = Pool2dWindow::square(2, 2);
    add(subjects, ConvSubject(problem, verify));
  }
}

// Operands of equal shapes, and broadcast along each dimension; transposes, padding and slices of each dimension; sizes
// that several threads share.
template <class NextSeed>
void add_joins(Subjects& subjects, NextSeed next_seed) {
  for (const int64_t count : {1, 3, 4, 17, 1023, 80021})
    add(subjects, pairwise_subject({1, count}, {1, count}, next_seed()));
  const Shape whole{3, 5, 7, 9};
  for (const Shape& other : {Shape{3, 5, 1, 1}, Shape{3, 1, 7, 9}, Shape{3, 5, 7, 1}, Shape{3, 1, 1, 9},
                             Shape{3, 1, 1, 1}, Shape{3, 5, 1, 9}}) {
    add(subjects, pairwise_subject(whole, other, next_seed()));
    add(subjects, pairwise_subject(other, whole, next_seed()));
  }
  add(subjects, pairwise_subject({2, 5, 1, 1}, {2, 1, 7, 9}, next_seed()));
  add(subjects, pairwise_subject({7, 16, 40, 44}, {7, 16, 1, 1}, next_seed()));
  for (const Shape& constant :
       {Shape{}, Shape{9}, Shape{7, 1}, Shape{5, 1, 1}, Shape{5, 7, 9}, Shape{1, 5, 1, 9}, Shape{1, 1, 1, 1}})
    add(subjects, constant_subject(whole, constant, next_seed()));
  add(subjects, constant_subject({2, 1, 4}, {3, 1}, next_seed()));
  add(subjects, constant_subject({7, 16, 40, 44}, {16, 1, 1}, next_seed()));

  for (const int64_t size : {1, 2, 3, 5, 12})
    add(subjects, lrn_subject(whole, size, 0.5f, 0.75f, 1.25f, next_seed()));
  add(subjects, lrn_subject({2, 9, 700}, 5, 1e-2f, 1.5f, 2, next_seed()));
  add(subjects, lrn_subject({7, 16, 40, 44}, 5, 0.5f, 0.75f, 1.25f, next_seed()));
  for (const std::vector<int>& order :
       {std::vector<int>{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {0, 3, 2, 1}})
    add(subjects, transpose_subject(whole, order, next_seed()));
  add(subjects, transpose_subject({2, 3, 5, 4, 2}, {0, 2, 1, 4, 3}, next_seed()));
  add(subjects, transpose_subject({7, 16, 40, 44}, {0, 2, 3, 1}, next_seed()));
  add(subjects, pad_subject(whole, {0, 0, 1, 1}, {0, 0, 1, 1}, next_seed()));
  add(subjects, pad_subject(whole, {0, 2, 0, 3}, {0, 0, 4, 1}, next_seed()));
  add(subjects, pad_subject(whole, {0, -1, 2, -3}, {0, 1, -2, -4}, next_seed()));
  add(subjects, pad_subject({7, 16, 40, 44}, {0, 0, 1, 1}, {0, 0, 2, 2}, next_seed()));
  add(subjects, slice_subject(whole, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, 5, 7, 9}, next_seed()));
  add(subjects, slice_subject(whole, {0, 4, 6, 8}, {1, -1, -2, -4}, {1, 5, 4, 3}, next_seed()));
  add(subjects, slice_subject({7, 16, 40, 44}, {0, 3, 1, 1}, {1, 2, 3, 1}, {1, 5, 13, 43}, next_seed()));
  add(subjects, slice_subject({7, 16, 40, 44}, {0, 15, 0, 2}, {1, -1, 1, 1}, {1, 16, 39, 41}, next_seed()));
  add(subjects, concat_subject({whole}, 1, next_seed()));
  add(subjects, concat_subject({whole, {3, 1, 7, 9}, {3, 4, 7, 9}}, 1, next_seed()));
  add(subjects, concat_subject({whole, {3, 5, 7, 2}}, 3, next_seed()));
  add(subjects, concat_subject({{7, 16, 40, 44}, {7, 3, 40, 44}}, 1, next_seed()));
}

}  // namespace

Subjects short_subjects(SubjectOptions options) {
  Subjects subjects;
  add_short_convolutions(subjects, options);
  const int64_t linear[][3] = {{5, 256, 120}, {5, 120, 84}, {5, 84, 10}, {3, 31, 17}, {1, 1, 1}};
  for (const auto& [samples, inputs, outputs] : linear)
    add(subjects, linear_subject({samples, inputs}, outputs, options));
  add(subjects, linear_subject({2, 3, 31}, 17, options, LinearVectors::kRows));
  const Pool2dWindow halves = Pool2dWindow::square(2, 2), padded = Pool2dWindow::square(3, 2, 1);
  for (const Pooling kind : kPoolings) {
    add(subjects, pool_subject(kind, {3, 6, 24, 24}, halves, options));
    add(subjects, pool_subject(kind, {3, 16, 8, 8}, halves, options));
    add(subjects, pool_subject(kind, {2, 3, 7, 13}, padded, options));
    add(subjects, pool_subject(kind, {1, 5, 5, 4}, Window(2, 3).stride(1, 2).pad(1, 0), options));
    add(subjects,
        pool_subject(kind, {1, 5, 9, 8},
                     Window(3, 2).stride(2, 3).pad(0, 1).more_pad(1, 0).dilation(2, 1).ceil(), options));
    add(subjects, pool_subject(kind, {2, 5, 7, 9}, Window(7, 9), options));
  }
  for (const Shape& shape : {Shape{3, 6, 24, 24}, Shape{1, 7, 3, 5}})
    add(subjects, relu_subject(shape, options));
  add(subjects, reshape_subject({3, 6, 4, 4}, {96}, options));
  add(subjects, activation_subject({3, 6, 7, 5}, options));
  add(subjects, pairwise_subject({3, 6, 7, 5}, {3, 6, 7, 5}, options));
  add(subjects, pairwise_subject({3, 6, 7, 5}, {3, 6, 1, 1}, options));
  add(subjects, constant_subject({3, 6, 7, 5}, {6, 1, 1}, options));
  add(subjects, lrn_subject({3, 6, 7, 5}, 4, 0.5f, 0.75f, 1.25f, options));
  add(subjects, transpose_subject({3, 6, 7, 5}, {0, 2, 3, 1}, options));
  add(subjects, pad_subject({3, 6, 7, 5}, {0, 0, 1, 2}, {0, 0, 3, -1}, options));
  add(subjects, slice_subject({3, 6, 7, 5}, {0, 1, 6, 0}, {1, 2, -3, 1}, {1, 3, 3, 5}, options));
  add(subjects, concat_subject({{3, 6, 7, 5}, {3, 2, 7, 5}}, 1, options));
  // The logits of a trained model have about this magnitude.
  for (const Shape& shape : {Shape{3, 10}, Shape{7, 17}, Shape{1, 1}})
    add(subjects, softmax_subject(shape, 10, options));
  add(subjects, softmax_subject({2, 5, 3, 7}, 10, options, 1));
  add(subjects, softmax_subject({3, 10}, 10, options, 1, true));
  // The matrix product of conv2's im2col for four images, then odd sizes with every transpose.
  for (const GemmProblem& problem :
       {gemm_problem(16, 256, 150), gemm_problem(120, 5, 256, false, true), gemm_problem(7, 13, 31),
        gemm_problem(7, 13, 31, true, false), gemm_problem(7, 13, 31, false, true),
        gemm_problem(7, 13, 31, true, true), gemm_problem(1, 1, 1)}) {
    add(subjects, GemmSubject(problem, options));
  }
  return subjects;
}

Subjects long_subjects() {
  Subjects subjects;
  SubjectOptions options;
  const auto next_seed = [&options] {
    options.seed += 3;
    return options;
  };
  // Sizes at and off the tiles; sizes that several threads share; batches beyond one block.
  const std::pair<Shape, int64_t> linear[] = {
      {{1, 16, 4, 4}, 120}, {{1, 120}, 84},      {{1, 84}, 10},      {{3, 256}, 120},   {{64, 16, 4, 4}, 120},
      {{33, 120}, 84},      {{257, 84}, 10},     {{1, 1}, 1},        {{2, 3}, 5},       {{7, 31}, 17},
      {{5, 33}, 127},       {{20, 16}, 32},      {{21, 17}, 33},     {{79, 130}, 65},   {{81, 100}, 97},
      {{1, 1000}, 3},       {{1, 2, 3, 5}, 129}, {{4, 4096}, 4},     {{5, 256}, 120},   {{64, 256}, 120},
      {{500, 300}, 200},    {{1, 3000}, 1500},   {{2001, 256}, 120}, {{10000, 84}, 10}, {{20, 12}, 32}};
  for (const auto& [input, outputs] : linear) add(subjects, linear_subject(input, outputs, next_seed()));
  for (const Shape& input : {Shape{3, 7, 33}, Shape{1, 2, 3, 5}, Shape{17, 50, 64}, Shape{1, 2001, 256}})
    add(subjects, linear_subject(input, 65, next_seed(), LinearVectors::kRows));

  const Pool2dWindow halves = Pool2dWindow::square(2, 2), padded = Pool2dWindow::square(3, 2, 1);
  const Pool2dWindow windows[] = {halves,
                                  Pool2dWindow::square(2, 1),
                                  padded,
                                  Pool2dWindow::square(1, 1),
                                  Pool2dWindow::square(1, 3),
                                  Pool2dWindow::square(3, 3),
                                  Pool2dWindow::square(5, 2, 2),
                                  Window(2, 3).stride(2, 1).pad(1, 0),
                                  Window(3, 2).stride(1, 2).pad(0, 1),
                                  Window(4, 1).stride(3, 2).pad(2, 0),
                                  Window(2, 2).stride(2, 2).pad(1, 1),
                                  Window(2, 2).stride(2, 2).pad(0, 1),
                                  Window(3, 3).stride(2, 2).pad(2, 2),
                                  Window(3, 3).stride(2, 2).more_pad(1, 1),
                                  Window(2, 3).stride(1, 2).pad(1, 2).more_pad(-1, -2),
                                  Window(3, 2).stride(2, 1).pad(2, 1).more_pad(0, -1).dilation(2, 3),
                                  Window(2, 2).stride(3, 3).ceil(),
                                  Window(3, 3).stride(2, 2).pad(1, 1).ceil(),
                                  Window(3, 2).stride(2, 3).pad(0, 1).more_pad(1, 0).dilation(2, 1).ceil(),
                                  Window(2, 2).stride(2, 2).ceil(),
                                  Window(2, 2).stride(2, 2).more_pad(1, 0),
                                  Window(2, 2).stride(2, 2).dilation(2, 1),
                                  Window(2, 2).stride(2, 2).dilation(1, 3)};
  const Shape planes[] = {{1, 1, 5, 5},   {1, 6, 24, 24}, {3, 16, 8, 8}, {2, 3, 7, 13},
                          {1, 2, 31, 17}, {5, 1, 6, 66},  {2, 3, 9, 8}};
  const auto add_pools = [&](const Shape& input, const Pool2dWindow& window) {
    const SubjectOptions data = next_seed();
    for (const Pooling kind : kPoolings) add(subjects, pool_subject(kind, input, window, data));
  };
  for (const Pool2dWindow& window : windows) {
    for (const Shape& input : planes) add_pools(input, window);
  }
  // Two rows of whole quads are read at once: the last row of an odd plane belongs to no window.
  for (const Shape& input : {Shape{2, 3, 7, 12}, Shape{1, 2, 3, 4}, Shape{3, 5, 31, 8}, Shape{7, 16, 41, 44},
                             Shape{2, 3, 8, 12}}) {
    add_pools(input, halves);
  }
  for (const Shape& input :
       {Shape{2, 3, 7, 9}, Shape{1, 19, 1, 3}, Shape{3, 5, 16, 16}, Shape{1, 2, 33, 31}}) {
    const int h = static_cast<int>(input[2]), w = static_cast<int>(input[3]);
    add_pools(input, Window(h, w).stride(h, w));  // all of it
  }
  add_pools({1, 1, 1, 1}, Pool2dWindow::square(1, 1));
  add_pools({7, 16, 40, 44}, halves);
  add_pools({7, 16, 40, 44}, padded);

  for (const int64_t count : {1, 2, 3, 4, 5, 15, 17, 255, 1021, 4099})
    add(subjects, relu_subject({count}, next_seed()));
  add(subjects, relu_subject({3, 100003}, next_seed()));
  for (const int64_t count : {1, 3, 4, 17, 1023, 60007})
    add(subjects, activation_subject({count}, next_seed()));
  add_joins(subjects, next_seed);
  add(subjects, reshape_subject({5, 7, 3}, {3, 7, 1}, next_seed()));
  add(subjects, reshape_subject({2, 50021}, {50021, 1, 1}, next_seed()));

  for (const int64_t classes : {1, 2, 3, 10, 15, 16, 17, 33, 100, 1000, 1025, 3001}) {
    for (const int64_t rows : {1, 3, 9}) {
      for (const double scale : {1.0, 10.0, 80.0})
        add(subjects, softmax_subject({rows, classes}, scale, next_seed()));
    }
  }
  add(subjects, softmax_subject({2, 3, 4, 5}, 3, next_seed()));
  add(subjects, softmax_subject({2, 1025}, 3, next_seed()));
  add(subjects, softmax_subject({5001, 10}, 5, next_seed()));
  for (const bool logarithms : {false, true}) {
    for (const int axis : {1, 2, 3})
      add(subjects, softmax_subject({3, 7, 5, 9}, 8, next_seed(), axis, logarithms));
    add(subjects, softmax_subject({2, 19, 300}, 8, next_seed(), 1, logarithms));
    add(subjects, softmax_subject({2, 1100}, 8, next_seed(), 1, logarithms));
    add(subjects, softmax_subject({3, 10, 40, 41}, 8, next_seed(), 1, logarithms));
  }
  add(subjects, softmax_subject({11, 45}, 8, next_seed(), 1, true));
  return subjects;
}

Subjects repeated_subjects(const std::string& folder) {
  Subjects subjects;
  for (const char* list : kRepeatedLists) {
    for (Conv2dProblem problem : listed_problems(folder, list)) {
      problem.n = 1;
      for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
        problem.layout = layout;
        add(subjects, ConvSubject(problem));
      }
    }
  }
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1}, {7, 3}, {65, 33}, {400, 129}, {1030, 17}};
  for (const auto& [inputs, outputs] : sizes) add(subjects, linear_subject({1, inputs}, outputs));
  add(subjects, linear_subject({1, 3, 65}, 33, {}, LinearVectors::kRows));
  const Shape planes{1, 5, 23, 19};
  add(subjects, pool_subject(Pooling::kMax, planes, Pool2dWindow::square(3, 2, 1)));
  for (const Pooling kind : {Pooling::kAverageInside, Pooling::kAverage})
    add(subjects, pool_subject(kind, planes, Pool2dWindow::square(3, 1, 1)));
  add(subjects, pool_subject(Pooling::kAverageInside, planes,
                             Window(3, 2).stride(2, 3).pad(0, 1).more_pad(1, 0).dilation(2, 1).ceil()));
  add(subjects, pool_subject(Pooling::kAverage, planes, Window(23, 19)));
  add(subjects, relu_subject(planes));
  add(subjects, reshape_subject(planes, {5 * 23 * 19}));
  add(subjects, constant_subject(planes, {5, 1, 1}));
  add(subjects, constant_subject(planes, {5, 23, 19}));
  add(subjects, lrn_subject(planes, 3, 0.5f, 0.75f, 1));
  add(subjects, transpose_subject(planes, {0, 2, 3, 1}));
  add(subjects, pad_subject(planes, {0, 0, 1, 2}, {0, 0, 3, 4}));
  add(subjects, slice_subject(planes, {0, 1, 22, 0}, {1, 2, -3, 1}, {1, 2, 7, 19}));
  for (const char* function : {"sigmoid", "tanh", "gelu", "mish", "clip"})
    add(subjects, activation_subject(planes, {}, function));
  add(subjects, softmax_subject(planes, 3, {}, 1, true));
  for (const int64_t classes : {1, 10, 257}) add(subjects, softmax_subject({1, classes}, 1));
  return subjects;
}

std::vector<NetworkSubject> network_subjects(const Graph& model, Device device,
                                             const std::vector<int64_t>& batches) {
  std::vector<NetworkSubject> subjects;
  for (const std::string& backend : model.network()->backends(device.kind)) {
    for (const MathMode math : kMathModes) {
      for (const int64_t batch : batches) {
        for (const ElementType input : {ElementType::kFp32, ElementType::kUint8, ElementType::kUint4}) {
          for (const ElementType output : model.network()->output_types())
            subjects.push_back({backend, model.network_request(device, batch, math, input, output)});
        }
      }
    }
  }
  return subjects;
}

}  // namespace lenslet::reference
