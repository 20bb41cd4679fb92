// The option of every command that reads pictures.
#pragma once

#include "apps/common/command_line.h"
#include "framework/io/image.h"

namespace lenslet {

/// --max-image-pixels N: the largest picture that is read.
void add_image_limits(Command& command, ImageLimits& limits);

}  // namespace lenslet
