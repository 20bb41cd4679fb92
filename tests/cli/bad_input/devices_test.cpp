// Devices, drivers, modules and limits.
#include "tests/cli/bad_input/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kDevices[] = {
    {"cuda_99", "lenslet eval --device cuda:99 --data {dir}/data", kUnavailable,
     "device cuda:99 is unavailable"},
    {"cuda_all_without_one", "lenslet eval --device cuda:all --data {dir}/data", kUnavailable,
     "cuda:all is unavailable|use device cpu", "CUDA_VISIBLE_DEVICES="},
    {"cuda_0_99", "lenslet eval --device cuda:0,99 --data {dir}/data", kUnavailable,
     " is unavailable: |use device cpu"},
    {"cuda_twice", "lenslet eval --device cuda:1,1 --data {dir}/data", kUsage, "cuda:1,1 names cuda:1 twice"},
    {"cuda_list_malformed", "lenslet eval --device cuda:0, --data {dir}/data", kUsage,
     "cuda:0,2, cuda:all or cuda:rank|found 'cuda:0,'"},
    {"cuda_list_of_words", "lenslet eval --device cuda:all,0 --data {dir}/data", kUsage,
     "found 'cuda:all,0'"},
    {"math_on_cpu", "{eval} --math tf32", kUnavailable, "no backend supports tf32 on cpu"},
    {"workspace_one_byte", "{eval} --backend conv1=im2col_gemm --workspace-limit 1", kMemory,
     "layer conv1: backend im2col_gemm cannot compute it|bytes of workspace, the limit is 1"},
    {"no_visible_device", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "device cuda:0 is unavailable: |use device cpu", "CUDA_VISIBLE_DEVICES="},
    {"visible_device_that_is_none", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "device cuda:0 is unavailable: |use device cpu", "CUDA_VISIBLE_DEVICES=99"},
    {"auto_without_device", "lenslet eval --data {dir}/data --limit 5", kOk, "on cpu|5 of 20 images",
     "CUDA_VISIBLE_DEVICES="},
    {"broken_driver", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "device cuda:0 is unavailable: |use device cpu", "LD_LIBRARY_PATH={dir}/driver"},
    {"modules_missing", "{eval} --backend conv1=onednn", kUnavailable,
     "onednn|was not found in {dir}/no_modules; set LENSLET_MODULE_PATH",
     "LENSLET_MODULE_PATH={dir}/no_modules"},
    {"modules_broken", "{eval} --backend conv1=onednn", kUnavailable,
     "lenslet_conv_cpu_onednn.so could not be opened: ", "LENSLET_MODULE_PATH={dir}/modules"},
    {"others_without_modules", "lenslet backends --device cpu", kOk, "direct|onednn",
     "LENSLET_MODULE_PATH={dir}/no_modules"},
    {"others_with_broken_modules", "{eval} --plan layered --limit 5", kOk, "5 of 20 images",
     "LENSLET_MODULE_PATH={dir}/modules"},
    {"workspace_of_everything", "{eval} --limit 5 --workspace-limit 18446744073709551615", kOk,
     "5 of 20 images"},
    {"threads_from_environment", "{eval}", kUsage,
     "LENSLET_NUM_THREADS must be a number from 1 to 1024, found 'many'", "LENSLET_NUM_THREADS=many"},

    {"stub_driver", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "device cuda:0 is unavailable: |use device cpu", "LD_LIBRARY_PATH={dir}/stub_driver"},
    {"memory_limit", "{eval} --plan layered --batch-size 4096", kMemory,
     "batch 4096 needs | are free; the largest batch that fits is about ", "LENSLET_DEVICE_MEMORY_LIMIT=1M"},
    {"memory_limit_that_is_none", "{eval} --plan layered", kUsage,
     "LENSLET_DEVICE_MEMORY_LIMIT expects bytes such as|found 'plenty'",
     "LENSLET_DEVICE_MEMORY_LIMIT=plenty"},
    {"decimal_comma", "{eval} --limit 5 --min-accuracy 0.05", kOk, "20.00 %", "LC_ALL=de_DE.UTF-8"},
};

INSTANTIATE_TEST_SUITE_P(Devices, BadInputTest, testing::ValuesIn(kDevices), ByName());

}  // namespace
}  // namespace lenslet::test
