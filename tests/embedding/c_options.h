// Options of the C library, as its tests choose them.
#pragma once

#include <lenslet.h>

namespace lenslet::test {

/// Both texts must outlive the options.
inline lenslet_options options_on_cpu(const char* plan, const char* backend) {
  lenslet_options options;
  lenslet_options_init(&options, sizeof options);
  options.device = "cpu";
  options.plan = plan;
  options.backend = backend;
  return options;
}

}  // namespace lenslet::test
