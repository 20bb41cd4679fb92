// A page that needs no server: `lenslet show` writes it, and Model.show in Python returns it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/common/ceilings/ceilings.h"
#include "apps/lenslet/pages/picture_page.h"
#include "framework/io/picture.h"

namespace lenslet {

/// The data of a still page (schema kPageSchema): what the network does with the picture `name`, and the times of a
/// pass of `batch`. Throws DataError.
nlohmann::ordered_json still_page(PicturePage& picture_page, const Picture& picture, const std::string& name,
                                  int64_t batch, const Ceilings& ceilings);

/// "digit.png: 3, LeNet-5 on cpu": what that page shows, in a line.
std::string describe_page(const nlohmann::ordered_json& page, const std::string& name,
                          const Session& session);

}  // namespace lenslet
