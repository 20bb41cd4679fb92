// ONNX models.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kModels[] = {
    {"missing_file", "{inspect}/none.onnx", kData, "m/none.onnx"},
    {"folder", "{inspect}", kData, "directory"},
    {"device_zero", "lenslet inspect /dev/zero", kData, "/dev/zero|a device"},
    {"no_file", "lenslet inspect", kUsage, "FILE"},
    {"empty", "{inspect}/empty.onnx", kData, "empty"},
    {"cut", "{inspect}/cut.onnx", kData, "cut.onnx|cut or damaged"},
    {"flipped", "{inspect}/flipped.onnx", kData, "flipped.onnx|damaged"},
    {"cyclic", "{inspect}/cyclic.onnx", kData, "\"sum_node\"|cycle"},
    {"missing_initializer", "{inspect}/missing.onnx", kData, "\"b\"|no initializer"},
    {"bomb", "{inspect}/bomb.onnx", kData, "\"b\"|2^40"},
    {"large", "{inspect}/large.onnx", kData, "17179869184 bytes, found 4"},
    {"nan", "{inspect}/nan.onnx", kData, "\"b\"|1 of its 2 values"},
    {"strings", "{inspect}/strings.onnx", kData, "\"b\"|string"},
    {"outside", "{inspect}/outside.onnx", kData, "../w/good.safetensors|relative path inside"},
    {"linked", "{inspect}/linked.onnx", kData, "lead out of the model's folder"},
    {"endless", "{inspect}/endless.onnx", kData, "lead out of the model's folder"},
    {"domain", "{inspect}/domain.onnx", kData, "y_node|com.example.Relu"},
    {"many_nodes", "{inspect}/many.onnx", kData, "more than 20000 nodes"},
    {"deep", "{model}/deep.onnx", kData,
     "z_node|If is supported with a condition that depends on no input only"},
    {"model_cut", "{model}/cut.onnx", kData, "cut.onnx|cut or damaged"},
    {"other_network", "{model}/many.onnx", kData, "more than 20000 nodes"},
    {"operators", "lenslet profile --model {dir}/m/acos.onnx", kData,
     "y_node: operator Acos is not supported"},
    {"computed_weights", "lenslet profile --model {dir}/m/computed.onnx", kData,
     "y_node: the weights of all layers together exceed twice those of the "
     "file|LENSLET_MAX_COMPUTED_WEIGHTS=N"},
    {"bomb_of_nodes", "lenslet profile --model {dir}/m/bomb_of_nodes.onnx", kData,
     "y_node: the weights of all layers together exceed twice those of the file"},
    {"computed_weights_allowed", "{inspect}/computed.onnx", kOk, "Lenslet runs this model",
     "LENSLET_MAX_COMPUTED_WEIGHTS=90300"},
    {"computed_weights_setting", "lenslet profile --model {dir}/m/computed.onnx", kUsage,
     "LENSLET_MAX_COMPUTED_WEIGHTS|plenty", "LENSLET_MAX_COMPUTED_WEIGHTS=plenty"},
    {"weights_without_memory", "{inspect}/sparse.onnx", kMemory,
     "its weights take 72000000 bytes as fp32|are free", "LENSLET_DEVICE_MEMORY_LIMIT=64M"},
    {"eval_of_other_inputs", "lenslet eval --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx",
     kData, "28x28|reads 3x32x32"},
    {"bench_fused",
     "lenslet bench --plan fused --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx",
     kUnavailable, "mean_pool has no whole-network plan"},
    {"bench_variant",
     "lenslet bench --backend simd --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx", kUsage,
     "names whole-network backends here|mean_pool"},
    {"bench_data",
     "lenslet bench --data {dir}/data --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx", kData,
     "28x28|reads 3x32x32"},
    {"tune_fused",
     "lenslet tune --plan fused --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx",
     kUnavailable, "mean_pool has no whole-network plan"},
    {"fused_plan",
     "lenslet profile --plan fused --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx",
     kUnavailable, "no whole-network plan"},
    {"unknown_layer",
     "lenslet profile --backend conv1=direct --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx",
     kUsage, "no layer 'conv1' in mean_pool|stem"},
    {"model_and_weights", "{model}/lenet5.onnx --weights {dir}/w/good.safetensors", kUsage,
     "--model|--weights"},
    {"output_over_model", "{model}/lenet5.onnx --logits {dir}/m/lenet5.onnx", kUsage, "--model|--logits"},
};

INSTANTIATE_TEST_SUITE_P(Models, BadInputTest, testing::ValuesIn(kModels), name_of);

}  // namespace
}  // namespace lenslet::test
