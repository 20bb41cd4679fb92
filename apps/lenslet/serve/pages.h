// Pages: the answers to the requests of the page at `/`, computed by the engine's network.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "apps/lenslet/serve/engine.h"
#include "apps/lenslet/serve/protocol/page_request.h"

namespace lenslet::serve {

/// For two threads beside the engine's: one with requests that measure, one with all others. Builds nothing before the
/// first request.
class Pages {
 public:
  /// `engine` must outlive this.
  explicit Pages(const Engine& engine);
  ~Pages();

  /// JSON (docs/serve.md). Throws DataError for what cannot be answered.
  std::string answer(const PageRequest& request);

 private:
  struct Made;

  const Engine& engine_;
  std::once_flag once_;
  std::unique_ptr<Made> made_;
};

/// The page itself, which requests everything else.
std::string home_page();

}  // namespace lenslet::serve
