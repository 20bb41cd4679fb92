#include "framework/graph/backend_table.h"

#include "framework/base/text.h"
#include "framework/device/other_device.h"
#include "framework/graph/module.h"

namespace lenslet {
void* BackendEntry::open_getter() const {
  if (kind_ == Kind::kNotBuilt)
    throw UnavailableError(concat("backend ", name_, " is not in this build: ", text_));
  const std::string kind = text_.substr(0, text_.find('_'));
  return Module::open(text_).symbol(concat("lenslet_", kind, "_backend").c_str());
}

void throw_no_backend(const char* kind, DeviceKind device, const std::string& name,
                      const std::vector<std::string>& cpu, const std::vector<std::string>& cuda) {
  const std::vector<std::string>& here = device == DeviceKind::kCpu ? cpu : cuda;
  for (const std::string& other : device == DeviceKind::kCpu ? cuda : cpu) {
    if (other == name)
      throw only_on_other_device(concat(kind, " backend '", name, "'"), device, comma_list(here));
  }
  throw UsageError(concat("no ", kind, " backend '", printable_excerpt(name), "' for ", to_string(device),
                          "; there are: ", comma_list(here)));
}

}  // namespace lenslet
