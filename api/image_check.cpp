#include "api/image_check.h"

#include "framework/base/error.h"

namespace lenslet {

std::string ImageCheck::complaint() const {
  if (are_pixels()) {
    return concat("images: expected normalised float32, ", paper_, " for paper to ", ink_, " for ink; found ",
                  min_, " to ", max_, ", which are pixels");
  }
  if (are_dark_on_light()) {
    return concat("images: expected bright ink on dark paper, found dark on light in ", light_, " of ",
                  with_ink_, " images looked at");
  }
  return {};
}

}  // namespace lenslet
