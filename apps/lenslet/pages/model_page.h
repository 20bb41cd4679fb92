// Pages of a loaded model: what the Python package takes of the programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/model_setup.h"
#include "framework/io/picture.h"

namespace lenslet {

struct Ceilings;

/// A page that `lenslet show` would write, and in a line what it shows: "digit.png: 3, LeNet-5 on cpu".
struct ModelPage {
  std::string html, text;
};

/// Makes pages of models on one device. Not thread-safe.
class PageMaker {
 public:
  PageMaker();
  ~PageMaker();

  /// What the model does with the picture `name`, with the times of a pass of `batch`. Throws DataError for a network
  /// that reads no pictures or is too large for a page.
  ModelPage page(const std::shared_ptr<const ModelSetup>& model, const Picture& picture,
                 const std::string& name, int64_t batch);

 private:
  std::unique_ptr<const Ceilings> ceilings_;  // of the device; measured for the first page
};

}  // namespace lenslet
