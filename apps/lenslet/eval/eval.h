// What eval and its backend matrix share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/common/program/run.h"
#include "apps/lenslet/pictures/eval_report.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"
#include "models/digit/image_dataset.h"

namespace lenslet {

inline constexpr size_t kMissesShown = 10;  // what two lines have room for
inline constexpr size_t kLabel = 12;        // columns of "accuracy:   "

/// A model's answers for a data set.
struct BatchRun {
  std::vector<float> logits;  // [count, classes]
  int64_t count = 0;          // computed images; fewer than requested after a signal or fault
  double wall_ns = 0;         // from bytes in memory to logits in memory, for all images
};
/// Runs the first `count` images through the model. Calls `progress` with the number of finished images; a signal ends
/// the run. Throws DeviceError; then `run` has the answers computed before.
void run_images(Model& model, const ImageDataset& data, int64_t count, BatchRun& run,
                const std::function<void(int64_t)>& progress = {});

/// The folder of --data, else that of MNIST. Throws DataError if there is none.
std::string data_folder(const EvalOptions& options);

/// The requested batch, or one that suits the device and the number of images.
int64_t eval_batch(const Session& session, int64_t count);
/// Fields that describe what was evaluated.
template <class V>
void evaluated_fields(V&& v, const Session& session, const ImageDataset& data, const std::string& split) {
  v("device", session.device_list())("device_name", session.device_name());
  v("math", session.math())("weights", session.weights_origin());
  v("split", split)("images_file", data.images_path);
}

/// Runs the images through every combination of backends and every whole-network backend, and compares the
/// answers with those of the first that runs. Returns kCheckFailed if a count in fp32 differs, or if one in a reduced
/// math mode differs by more than 3 digits in 10,000.
ExitCode run_backend_matrix(const EvalOptions& options, const Session& session, const ImageDataset& data,
                            int64_t count, Run& run);

}  // namespace lenslet
