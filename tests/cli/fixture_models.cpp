// ONNX files, each with one fault.
#include <cmath>

#include "tests/cli/fixture_parts.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/files.h"

namespace lenslet::test {

void write_models(const std::filesystem::path& dir) {
  using namespace onnx;
  const std::filesystem::path folder = dir / "m";
  const auto write = [&](const char* name, const GraphParts& parts) {
    write_fixture(folder / name, model_of(parts).file());
  };
  Bytes lenet5 = bytes_of(read_text(LENSLET_SOURCE_DIR "/tests/models/onnx/lenet5.onnx"));
  write_fixture(folder / "lenet5.onnx", lenet5);
  write_fixture(folder / "cut.onnx", {lenet5.begin(), lenet5.begin() + static_cast<long>(lenet5.size() / 2)});
  lenet5[1] ^= 0x80;  // the version becomes the beginning of a longer number
  write_fixture(folder / "flipped.onnx", lenet5);
  write_fixture(folder / "empty.onnx", {});
  const auto write_text = [&](const char* name, const std::string& text) {
    write_fixture(folder / name, {text.begin(), text.end()});
  };
  write_text("pointer.onnx", "version https://git-lfs.example/spec/v1\noid sha256:0\nsize 26\n");
  write_text("page.onnx", "\xef\xbb\xbf\r\n<!DOCTYPE html>\n<html></html>\n");
  write_text("checkpoint.onnx", "PK\x03\x04");
  write_text("one_byte.onnx", "<");

  GraphParts parts = small_graph();
  parts.nodes = {node("Add", {"x", "y"}, "sum"), node("Relu", {"sum"}, "y")};
  write("cyclic.onnx", parts);
  parts = small_graph();
  parts.initializers.clear();
  write("missing.onnx", parts);
  const auto write_tensor = [&](const char* name, const Message& bad) {
    parts = small_graph();
    parts.initializers = {bad};
    write(name, parts);
  };
  const int64_t large = int64_t{1} << 32;
  write_tensor("bomb.onnx", tensor("b", kFloat, {large, large}).text(9, "1234"));
  write_tensor("large.onnx", tensor("b", kFloat, {large}).text(9, "1234"));
  write_tensor("nan.onnx", floats("b", {2}, {1, NAN}));
  write_tensor("strings.onnx", tensor("b", kString, {1}).text(6, "word"));
  const auto outside = [](const char* location) {
    return tensor("b", kFloat, {2})
        .integer(14, 1)
        .message(13, Message().text(1, "location").text(2, location));
  };
  write_tensor("outside.onnx", outside("../w/good.safetensors"));
  write_tensor("external.onnx", outside("b.data"));
  write_fixture(folder / "b.data", Bytes(8));
  write_tensor("linked.onnx", outside("link"));
  write_tensor("endless.onnx", outside("zero"));
  std::filesystem::create_symlink("../w/good.safetensors", folder / "link");
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  parts = small_graph();
  parts.nodes[1].text(7, "com.example");
  write("domain.onnx", parts);
  parts = small_graph();
  parts.nodes.assign(1000000, Message().text(4, "Relu"));
  write("many.onnx", parts);
  Message deep;
  for (int i = 0; i < 2000; ++i)
    deep = Message().message(
        1, Message().text(4, "If").message(5, Message().text(1, "then_branch").message(6, deep)));
  parts = small_graph();
  parts.nodes.push_back(node("If", {"x"}, "z", {Message().text(1, "then_branch").message(6, deep)}));
  parts.outputs.push_back(value("z", {1}));
  write("deep.onnx", parts);
  parts = small_graph();
  parts.nodes[1] = node("Acos", {"sum"}, "y");
  write("acos.onnx", parts);
  write("computed.onnx", {{node("ConstantOfShape", {"sizes"}, "w"), node("MatMul", {"x", "w"}, "y")},
                          {int64s("sizes", {300, 300})},
                          {value("x", {-1, 300})},
                          {value("y", {-1, 300})}});
  write("bomb_of_nodes.onnx", {{node("ConstantOfShape", {"sizes"}, "w"), node("MatMul", {"x", "w"}, "y")},
                               {int64s("sizes", {2, 8000000})},
                               {value("x", {-1, 2})},
                               {value("y", {-1, 8000000})}});
  const Message grey = value("x", {-1, 1, 8, 8});
  write("one_value.onnx", {{node("GlobalAveragePool", {"x"}, "y")}, {}, {grey}, {value("y", {-1, 1, 1, 1})}});
  write("picture_out.onnx", {{node("Relu", {"x"}, "y")}, {}, {grey}, {value("y", {-1, 1, 8, 8})}});
  write("rows.onnx", {{node("Flatten", {"x"}, "f"), node("Gemm", {"f", "w"}, "y")},
                      {floats("w", {784, 10}, std::vector<float>(7840, 0.5f))},
                      {value("x", {-1, 28, 28})},
                      {value("y", {-1, 10})}});
  const std::vector<int64_t> giant = {-1, 1024, 1024, 1024};
  write("giant.onnx", {{node("Relu", {"x"}, "y")}, {}, {value("x", giant)}, {value("y", giant)}});
  constexpr int64_t kManyWeights = 18000000;
  write_tensor("sparse.onnx", outside("sparse.data").integers(1, {kManyWeights / 2}));
  write_fixture(folder / "sparse.data", {});
  std::filesystem::resize_file(folder / "sparse.data", kManyWeights * sizeof(float));
}

}  // namespace lenslet::test
