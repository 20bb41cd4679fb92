#include "python/src/showing.h"

#include <nanobind/stl/string.h>

#include "python/src/reading.h"

namespace nb = nanobind;

namespace lenslet::python {

nb::object show_picture(SharedModel& self, nb::handle picture, int64_t batch, const CallOptions& choices) {
  const NamedPicture given = picture_from(picture);
  ModelPage page;
  {
    const nb::gil_scoped_release no_gil;
    page = self.show(given, batch, choices);
  }
  return nb::module_::import_("lenslet._notebook").attr("Page")(page.html, page.text);
}

}  // namespace lenslet::python
