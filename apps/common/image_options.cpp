#include "apps/common/image_options.h"

#include "apps/common/option_values.h"

namespace lenslet {

void add_image_limits(Command& command, ImageLimits& limits) {
  constexpr size_t kMiB = 1 << 20;
  constexpr const char* kName = "--max-image-pixels";
  command.option(
      kName, "N",
      concat("read pictures of up to N pixels, whatever memory that takes [", ImageLimits::kDefaultPixels,
             ", and ", ImageLimits{}.max_decode_bytes / kMiB, " MiB to decode]"),
      [&limits, kName](const std::string& text) {
        limits = ImageLimits::up_to(parse_integer(kName, text, 1, ImageLimits::kMostPixels));
      });
}

}  // namespace lenslet
