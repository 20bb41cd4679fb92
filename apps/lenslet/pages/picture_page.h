// PicturePage: what a network does with one picture, as JSON for the page: the steps from the picture to the input, the
// values that every layer writes, the answer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/model.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

/// For one thread at a time, except build() and session(). Errors of a request are DataError.
class PicturePage {
 public:
  using Json = nlohmann::ordered_json;

  /// Both must outlive this. Throws DataError for a network that reads no pictures, or one too large for a page.
  PicturePage(const Session& session, const PictureOptions& options);

  /// The member `network` of a page: layers, weights, backends with the reasons of those that refuse.
  Json network() const;
  /// The member `look`: what the network does with a picture, or that in these bytes of a file. `backends` as
  /// "conv2=direct,fc1=tiled"; the other layers keep what the session chose. `digit`: which one of a number.
  Json look(const Picture& picture, const std::string& name, const std::string& backends = "",
            int64_t digit = 0);
  Json look(const std::vector<uint8_t>& picture, const std::string& name, const std::string& backends = "",
            int64_t digit = 0);

  const Session& session() const noexcept { return session_; }
  /// Layer by layer with these backends; `fuse` as the plan of a pass would.
  BuildOptions build(const std::string& backends, int64_t batch, bool fuse) const;

 private:
  struct NetworkInput;
  NetworkInput read_number_input(const Picture& picture, const std::string& name, int64_t digit);
  NetworkInput read_other_input(const Picture& picture, const std::string& name);
  Executable& pass(const std::string& backends);
  void add_values(const std::vector<float>& input, const std::string& backends, Json& look);

  const Session& session_;
  const PictureOptions& options_;
  PictureChoices choices_;
  PictureLayout layout_;
  std::vector<int64_t> channels_;                              // shown, by node
  Model model_;                                                // answers as `classify` does
  std::map<std::string, std::unique_ptr<Executable>> passes_;  // by backends; every layer keeps its values
};

}  // namespace lenslet
