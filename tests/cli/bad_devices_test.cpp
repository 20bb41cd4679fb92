// Devices, drivers, modules and limits.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kDevices[] = {
    {"cuda_99", "lenslet eval --device cuda:99 --data {dir}/data", kUnavailable, "cuda:99"},
    {"math_on_cpu", "{eval} --math tf32", kUnavailable, "tf32"},
    {"workspace_one_byte", "{eval} --backend conv1=im2col_gemm --workspace-limit 1", kMemory,
     "workspace|conv1"},
    {"no_visible_device", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "cuda:0|use device cpu", "CUDA_VISIBLE_DEVICES="},
    {"visible_device_that_is_none", "lenslet eval --device cuda --data {dir}/data", kUnavailable,
     "cuda:0|use device cpu", "CUDA_VISIBLE_DEVICES=99"},
    {"auto_without_device", "lenslet eval --data {dir}/data --limit 5", kOk, "on cpu|5 of 20 images",
     "CUDA_VISIBLE_DEVICES="},
    {"broken_driver", "lenslet eval --device cuda --data {dir}/data", kUnavailable, "cuda:0|use device cpu",
     "LD_LIBRARY_PATH={dir}/driver"},
    {"modules_missing", "{eval} --backend conv1=onednn", kUnavailable,
     "onednn|{dir}/no_modules|LENSLET_MODULE_PATH", "LENSLET_MODULE_PATH={dir}/no_modules"},
    {"modules_broken", "{eval} --backend conv1=onednn", kUnavailable, "onednn|lenslet_conv_cpu_onednn.so",
     "LENSLET_MODULE_PATH={dir}/modules"},
    {"others_without_modules", "lenslet backends --device cpu", kOk, "direct|onednn",
     "LENSLET_MODULE_PATH={dir}/no_modules"},
    {"others_with_broken_modules", "{eval} --plan layered --limit 5", kOk, "5 of 20 images",
     "LENSLET_MODULE_PATH={dir}/modules"},
    {"workspace_of_everything", "{eval} --limit 5 --workspace-limit 18446744073709551615", kOk,
     "5 of 20 images"},
    {"threads_from_environment", "{eval}", kUsage, "LENSLET_NUM_THREADS|many", "LENSLET_NUM_THREADS=many"},

    {"stub_driver", "lenslet eval --device cuda --data {dir}/data", kUnavailable, "cuda:0|use device cpu",
     "LD_LIBRARY_PATH={dir}/stub_driver"},
    {"memory_limit", "{eval} --plan layered --batch-size 4096", kMemory, "largest batch",
     "LENSLET_DEVICE_MEMORY_LIMIT=1M"},
    {"memory_limit_that_is_none", "{eval} --plan layered", kUsage, "LENSLET_DEVICE_MEMORY_LIMIT|plenty",
     "LENSLET_DEVICE_MEMORY_LIMIT=plenty"},
    {"decimal_comma", "{eval} --limit 5 --min-accuracy 0.05", kOk, "20.00 %", "LC_ALL=de_DE.UTF-8"},
};

INSTANTIATE_TEST_SUITE_P(Devices, BadInputTest, testing::ValuesIn(kDevices), name_of);

}  // namespace
}  // namespace lenslet::test
