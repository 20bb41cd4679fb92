// A kernel that no problem launches: layer_launches_test.cpp expects the census to miss it.
namespace lenslet {
namespace {

__global__ void launched_by_no_problem_kernel() {}
[[maybe_unused]] void (*const kRegistered)() = launched_by_no_problem_kernel;

}  // namespace
}  // namespace lenslet
