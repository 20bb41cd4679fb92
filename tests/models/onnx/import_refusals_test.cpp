// Networks that Lenslet would compute otherwise than the file states: each is refused with its reason.
#include <gtest/gtest.h>

#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

TEST(OnnxImport, RefusesWhatWouldBeAnotherResult) {
  Writer mixes({4, 4}, 1);
  mixes.add("Reshape", {mixes.numbers({4, 4})});
  mixes.add("Relu");
  expect_refused(mixes, "nodes that mix samples are not supported");
  Writer moves({2, 4, 4});
  moves.add("Transpose", {}, {attribute("perm", {1, 0, 2, 3})});
  expect_refused(moves, "a Transpose that moves the batch is not supported");
  Writer training({2, 4, 4});
  training.add(
      "BatchNormalization",
      {training.weights({2}), training.weights({2}), training.weights({2}), training.weights({2}, 0.1f, 1)},
      {attribute("training_mode", 1)});
  expect_refused(training, "as inference over channels only", 15);
  Writer dropping({2, 4, 4});
  dropping.add("Conv", {dropping.weights({2, 2, 3, 3})});
  const std::string ratio = dropping.weights({}, 0, 0.5f), trains = dropping.numbers({1});
  dropping.add("Dropout", {ratio, trains});
  expect_refused(dropping, "Dropout is supported as inference only");
  Writer negative({2, 4, 4});
  negative.add("BatchNormalization", {negative.weights({2}), negative.weights({2}), negative.weights({2}),
                                      negative.weights({2}, 0.1f, -1)});
  expect_refused(negative, "its variance of channel 0 is not positive");
  Writer reflects({2, 4, 4});
  reflects.add("Pad", {reflects.numbers({0, 0, 1, 1, 0, 0, 1, 1})}, {text_attribute("mode", "reflect")});
  reflects.add("Conv", {reflects.weights({2, 2, 3, 3})});
  expect_refused(reflects, "Pad is supported with a constant");
  Writer dynamic({2, 4, 4});
  dynamic.join("Conv", {"x", "x"});
  expect_refused(dynamic, "weights that are not constant");
}

// An attribute that Lenslet ignored could change the result.
TEST(OnnxImport, RefusesUnknownAttributes) {
  Writer misspelt({2, 4, 4});
  misspelt.add("MaxPool", {}, {attribute("kernel_shape", {2, 2}), attribute("stride", {2, 2})});
  misspelt.add("Relu", {}, {attribute("limit", 6)});
  expect_refused(
      misspelt,
      "v0_node: attribute \"stride\" is none of MaxPool's in operator set 13: auto_pad, "
      "ceil_mode, dilations, kernel_shape, pads, storage_order, strides; v1_node: attribute \"limit\" is "
      "none of Relu's in operator set 13, which has none");
  Writer constant({4});
  const std::string computed = constant.join("Neg", {constant.weights({4})}, {attribute("twice", 1)});
  constant.join("Add", {"x", computed});
  expect_refused(constant,
                 "v0_node: attribute \"twice\" is none of Neg's in operator set 13, which has none");
  Writer folded({2, 4});
  folded.add("Conv", {folded.weights({2, 2, 3})});
  folded.add("Add", {folded.weights({2, 1})}, {attribute("axis", 1)});  // the sets up to 6 have it
  expect_refused(folded, "v1_node: attribute \"axis\" is none of Add's in operator set 13, which has none");
  Writer dead({4});
  dead.add("Neg", {}, {attribute("twice", 1)});
  dead.join("Relu", {"x"});
  EXPECT_EQ(lenslet::onnx::faults_of(import(dead.model()), dead.model()), "") << "nothing needs the node";
}

TEST(OnnxImport, ListsNoMoreReasonsThanCanBeRead) {
  Writer many({4});
  for (int i = 0; i < 24; ++i) many.add("Relu", {}, {attribute("limit", 6)});
  const auto faults = [&] { return lenslet::onnx::faults_of(import(many.model()), many.model()); };
  EXPECT_EQ(faults().find(" more"), std::string::npos) << faults();
  many.add("Relu", {}, {attribute("limit", 6)});
  expect_refused(many, "which has none; and 1 more: lenslet inspect lists all");
}

// With a free batch a first dimension of 1 may be anything; a frozen one is the batch that the file states.
TEST(OnnxImport, RefusesSamplesInOneRow) {
  for (const int64_t batch : {-1, 1}) {
    Writer w({3, 4, 4}, batch);
    w.add("Reshape", {w.numbers({1, -1})});
    w.add("Softmax", {}, {attribute("axis", 1)});
    if (batch < 0)
      expect_refused(w, "it makes 1x96 of a batch of 2; nodes that mix samples are not supported");
    else
      EXPECT_EQ(lenslet::onnx::faults_of(import(w.model()), w.model()), "");
  }
  Writer flat({3, 4});
  flat.add("Flatten", {}, {attribute("axis", 0)});
  flat.add("Softmax", {}, {attribute("axis", 1)});
  expect_refused(flat, "it makes 1x24 of a batch of 2");
  Writer fixed({3, 4});  // no batch but 1 can run
  fixed.add("Reshape", {fixed.numbers({1, 12})});
  fixed.add("Softmax", {}, {attribute("axis", 1)});
  EXPECT_EQ(lenslet::onnx::faults_of(import(fixed.model()), fixed.model()), "");
}

TEST(OnnxImport, RefusesABiasOfAnotherLength) {
  for (const int64_t count : {1, 3, 5}) {
    Writer w({2, 4, 4});
    w.add("Conv", {w.weights({4, 2, 3, 3}), w.weights({count})});
    expect_refused(w, "its bias has " + std::to_string(count) + " values, expected 4");
  }
}

// Before operator set 14 the number of outputs tells training from inference.
TEST(OnnxImport, RefusesNormalisationThatTrains) {
  for (const bool folds : {false, true}) {
    Writer w({2, 4, 4});
    if (folds) w.add("Conv", {w.weights({2, 2, 3, 3})});
    w.batch_norm(2);
    w.more_output("");
    expect_as_judged(w.model(9));
    w.more_output("mean");
    expect_refused(w, "BatchNormalization with more than one output trains before operator set 14", 9);
    expect_as_judged(w.model(15));
  }
}

TEST(OnnxImport, RefusesProductsWithSeveralMatrices) {
  for (const int64_t matrices : {1, 2}) {
    Writer w({2, 5, 6});
    w.add("MatMul", {w.weights({1, matrices, 6, 4})});
    if (matrices > 1)
      expect_refused(w, "by weights [I, O] only, found 1x2x5x6 by 1x2x6x4");
    else
      expect_as_judged(w.model());
  }
}

TEST(OnnxImport, RefusesConstantsThatDropoutChanges) {
  for (const int64_t trains : {0, 1}) {
    Writer w({6});
    const std::string weights = w.weights({6, 4});
    w.join("MatMul", {"x", w.join("Dropout", {weights, w.weights({}, 0, 0.5f), w.numbers({trains})})});
    if (trains)
      expect_refused(w, "Dropout is supported as inference only");
    else
      expect_as_judged(w.model());
  }
}

TEST(OnnxImport, RefusesAThirdOperand) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "PRelu"}) {
    Writer w({6});
    w.add(op, {w.weights({6}), w.weights({6})});
    expect_refused(w, "it has 3 inputs, expected 2");
    Writer one({6});
    one.add(op);
    expect_refused(one, "it has 1 inputs, expected 2");
  }
  Writer sum({6});
  sum.add("Sum", {sum.weights({6}), sum.weights({6})});
  expect_as_judged(sum.model());
}

TEST(OnnxImport, RefusesConstantsWithoutElements) {
  for (const Dims& none : {Dims{0}, Dims{1, 0}}) {
    Writer w({1});
    w.add("Add", {w.weights(none)});
    expect_refused(w, "a constant without elements is not supported");
  }
}

}  // namespace
}  // namespace lenslet::test::onnx
