// Weights and plans.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kWeights[] = {
    {"missing_file", "{weights}/none", kData, "w/none"},
    {"folder", "{weights}", kData, "directory"},
    {"empty", "{weights}/empty.safetensors", kData, "empty"},
    {"missing_tensor", "{weights}/missing.safetensors", kData, "missing fc3.bias"},
    {"extra_tensor", "{weights}/extra.safetensors", kData, "fc4.bias"},
    {"transposed", "{weights}/transposed.safetensors", kData, "fc1.weight|120x256|256x120|transposed"},
    {"nan", "{weights}/nan.safetensors", kData, "conv1.weight|1"},
    {"f64", "{weights}/F64.safetensors", kData, "F64|conv1.bias"},
    {"header_max", "{weights}/header_max.safetensors", kData, "header"},
    {"header_10g", "{weights}/header_10g.safetensors", kData, "header"},
    {"header_past_end", "{weights}/header_past_end.safetensors", kData, "header"},
    {"cut", "{weights}/cut.safetensors", kData, "cut.safetensors"},
    {"pytorch", "{weights}/model.pt", kData, "PyTorch"},
    {"html", "{weights}/page.html", kData, "HTML"},
    {"lfs", "{weights}/pointer", kData, "LFS"},
    {"plan_missing", "{eval} --plan {dir}/plans/none.json", kData, "none.json"},
    {"plan_text", "{eval} --plan {dir}/plans/text.json", kData, "text.json"},
    {"plan_schema", "{eval} --plan {dir}/plans/other.json", kData, "other.json"},
    {"plan_deep", "{eval} --plan {dir}/plans/deep.json", kData, "deep.json"},
    {"two_shapes", "{weights}/two_shapes.safetensors", kData,
     "fc1.bias|60x2|fc2.weight|120x84|84x120|transposed"},
    {"renamed", "{weights}/renamed.safetensors", kData, "missing fc3.bias|fc4.bias"},
    {"rank", "{weights}/rank.safetensors", kData, "conv2.weight|16x150|16x6x5x5"},
    {"inf", "{weights}/inf.safetensors", kData, "fc1.weight|2"},
    {"I64", "{weights}/I64.safetensors", kData, "I64|conv1.bias"},
    {"deep", "{weights}/deep.safetensors", kData, "deep.safetensors"},
    {"legacy_pytorch", "{weights}/legacy.pt", kData, "PyTorch"},
    {"onnx", "{weights}/model.onnx", kData, "ONNX"},
    {"device_zero", "{eval} --weights /dev/zero", kData, "/dev/zero|a device"},
    {"other_model", "{weights}/other_model.safetensors", kData,
     "other_model|model \"resnet\"|expected \"lenet5\""},
    {"std_zero", "{weights}/std_zero.safetensors", kData, "std_zero|std \"0\"|0.001 to 10"},
    {"mean_alone", "{weights}/mean_alone.safetensors", kData, "mean_alone|mean without std"},
    {"temperature", "{weights}/temperature.safetensors", kData, "temperature \"1.5\"|divide fc3.weight"},
    {"threshold_word", "{weights}/threshold_word.safetensors", kData,
     "energy_threshold \"low\"|a decimal number"},
    {"many_tensors", "{weights}/many.safetensors", kData, "many.safetensors|unexpected t0x|and 2976 more"},
    {"symlink_loop", "{weights}/loop", kData, "w/loop"},
    {"huge_file", "{eval} --weights /proc/kcore", kData, "/proc/kcore"},
    {"plan_empty", "{eval} --plan {dir}/plans/empty.json", kData, "empty.json"},
    {"plan_large", "{eval} --plan {dir}/plans/large.json", kData, "large.json|4194304"},
};

INSTANTIATE_TEST_SUITE_P(Weights, BadInputTest, testing::ValuesIn(kWeights), name_of);

}  // namespace
}  // namespace lenslet::test
