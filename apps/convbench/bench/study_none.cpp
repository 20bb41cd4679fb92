// Stand-ins for running a study's kernel in a build without CUDA. The commands refuse before they call one.
#include "apps/convbench/bench/study_kernel.h"
#include "framework/base/error.h"

namespace lenslet {

Support study_support(const StudyLaunch&, const void*, Device) { return Support::no(cuda_status().reason); }
LaunchResources study_launch_resources(const StudyLaunch&, const void*) {
  throw UnavailableError(cuda_status().reason);
}
void study_enqueue(const StudyLaunch&, const void*, void**, Stream&) {
  throw UnavailableError(cuda_status().reason);
}

}  // namespace lenslet
