// Engine: the model behind the server, prepared for batches of several sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/model.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "apps/lenslet/serve/object_pool.h"
#include "apps/lenslet/serve/passes.h"
#include "apps/lenslet/serve/protocol/infer_request.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet::serve {

class Engine {
 public:
  /// Builds passes of up to options.max_batch samples, and runs each size once. Pixels have passes of their own where
  /// the plan reads bytes, and are otherwise normalised here. Throws like Session and Model.
  explicit Engine(const ServeOptions& options, const Console& console = Console({}));

  /// The names and shapes of the model.
  const Signature& signature() const noexcept { return signature_; }
  /// Outputs [count, …] of samples [count, …]. They are divided between the passes by their count alone. One thread at
  /// a time.
  std::vector<float> infer(const Samples& samples, int64_t count);
  /// Computes the outputs of one sample, with the same bits as infer(). Any number of threads at a time. Returns false
  /// if there is no free pass: there is one for each thread of the server, and none on a GPU or for networks that take
  /// longer than a change of threads, which is tens of microseconds.
  bool infer_at_once(const Samples& sample, std::vector<float>& outputs);
  /// The JSON that `lenslet classify --json` writes about a picture. One thread at a time, which may run beside
  /// infer(). Throws DataError for a picture that cannot be read, or a network that reads no pictures.
  std::string classify(const std::vector<uint8_t>& file);

  /// "LeNet-5 with the built-in weights, robust set, on cpu (…): fused simd; pixels: fused simd, uint8 in".
  std::string describe();
  /// Whether a sample's output has the same bits in every batch.
  bool same_bits() const noexcept { return values_->same_bits() && (!pixels_ || pixels_->same_bits()); }
  Device device() const noexcept { return session_.device(); }
  const Session& session() const noexcept { return session_; }
  const ServeOptions& options() const noexcept { return options_; }

 private:
  /// Passes of one sample, each for one thread at a time.
  struct SinglePass {
    void run(const Samples& sample, const Signature& signature, float* outputs);
    Model values;
    std::optional<Model> pixels;
  };
  Model single_model(Passes& as) const;
  void prepare_single_passes();
  std::string classify_digits(const std::vector<uint8_t>& file);
  std::string classify_other(const std::vector<uint8_t>& file);

  const ServeOptions options_;
  Session session_;
  PictureChoices choices_;
  Signature signature_;
  std::optional<Passes> values_, pixels_;  // pixels_: none where the plan reads values only
  ObjectPool<SinglePass> single_passes_;
  Model pictures_;
};

}  // namespace lenslet::serve
