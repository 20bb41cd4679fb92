// The networks beside this file, as exporters wrote them, against the judge that evaluates their nodes in fp64.
#include <gtest/gtest.h>

#include "models/onnx/reader.h"
#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

TEST(OnnxFiles, GiveWhatTheirNodesCompute) {
  for (const char* name : {"mean_pool", "separable", "resnet20", "mobilenet"}) {
    SCOPED_TRACE(name);
    expect_as_judged(
        lenslet::onnx::read_model(std::string(LENSLET_SOURCE_DIR "/tests/models/onnx/") + name + ".onnx"),
        {1});
  }
}

}  // namespace
}  // namespace lenslet::test::onnx
