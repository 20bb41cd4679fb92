#include "python/src/reading.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/picture.h"
#include "python/src/images.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

using Bytes = std::vector<uint8_t>;

Picture decode(const Bytes& bytes) { return decode_picture(bytes, kPictureInMemory); }

// Pixels [H, W] or [H, W, C]; with one dimension the bytes of a file.
Picture picture_of_array(nb::handle given) {
  const SampleArray array = SampleArray::picture(given);
  Bytes bytes;
  const uint8_t* const pixels = array.slice(0, 1, bytes);
  const std::vector<size_t> shape = array.shape();
  size_t values = 1;
  for (const size_t extent : shape) values *= extent;
  if (shape.size() == 1) return decode({pixels, pixels + values});
  Picture picture;
  picture.height = static_cast<int>(shape[0]);
  picture.width = static_cast<int>(shape[1]);
  picture.channels = shape.size() == 3 ? static_cast<int>(shape[2]) : 1;
  picture.pixels.assign(pixels, pixels + values);
  picture.format = "array";
  return picture;
}

// Throws ValueError for a null character, as open() does.
std::string path_of(nb::handle picture) {
  PyObject* encoded = nullptr;
  if (!PyUnicode_FSConverter(picture.ptr(), &encoded)) throw nb::python_error();
  const auto path = nb::steal<nb::bytes>(encoded);
  return {path.c_str(), path.size()};
}

// A picture of Pillow as an array. Palettes, inks and single bits become colours, whose values are bytes.
nb::object array_from_pillow(nb::handle picture) {
  const auto mode = nb::cast<std::string>(picture.attr("mode"));
  if (mode[0] == 'I' || mode[0] == 'F')
    throw nb::type_error(concat("picture: Pillow's mode ", mode,
                                " has other values than bytes; scale them to 0 to 255 "
                                "and convert with .convert('L')")
                             .c_str());
  const bool bytes = mode == "L" || mode == "LA" || mode == "RGB" || mode == "RGBA";
  const nb::object plain = bytes ? nb::borrow(picture) : picture.attr("convert")("RGBA");
  return nb::module_::import_("numpy").attr("asarray")(plain);
}

}  // namespace

NamedPicture picture_from(nb::handle picture) {
  if (PyBytes_Check(picture.ptr()) || PyByteArray_Check(picture.ptr())) {
    const bool constant = PyBytes_Check(picture.ptr());
    const char* const data =
        constant ? PyBytes_AS_STRING(picture.ptr()) : PyByteArray_AS_STRING(picture.ptr());
    const Py_ssize_t size = constant ? PyBytes_GET_SIZE(picture.ptr()) : PyByteArray_GET_SIZE(picture.ptr());
    const Bytes bytes(data, data + size);
    const nb::gil_scoped_release no_gil;
    return {decode(bytes), "picture"};
  }
  if (PyUnicode_Check(picture.ptr()) || nb::hasattr(picture, "__fspath__")) {
    const std::string path = path_of(picture);
    const nb::gil_scoped_release no_gil;
    return {read_picture(path), path};
  }
  const bool pillow = nb::hasattr(picture, "mode") && nb::hasattr(picture, "convert");
  return {picture_of_array(pillow ? array_from_pillow(picture) : nb::borrow(picture)), "picture"};
}

namespace {

nb::object digit_from(const nb::object& make, const ReadDigit& read) {
  const bool refused = read.refusal != Refusal::kNone;
  const nb::object digit = refused ? nb::none() : nb::object(nb::int_(read.top[0].digit));
  return make(digit, refused ? NAN : read.top[0].probability,
              nb::make_tuple(read.box.x0, read.box.y0, read.box.width(), read.box.height()), read.energy,
              refusal_name(read.refusal), read.reason);
}

}  // namespace

nb::object reading_of(SharedModel& self, nb::handle given) {
  self.check_reads_digits();
  const Picture picture = picture_from(given).picture;
  Reading reading;
  {
    const nb::gil_scoped_release no_gil;
    reading = self.read(picture);
  }
  const nb::module_ types = nb::module_::import_("lenslet._types");
  nb::list digits, warnings;
  for (const ReadDigit& digit : reading.digits) digits.append(digit_from(types.attr("Digit"), digit));
  for (const std::string& warning : reading.warnings.texts) warnings.append(warning);
  return types.attr("Reading")(reading.number, reading.probability, digits, refusal_name(reading.refusal),
                               reading.reason, warnings);
}

}  // namespace lenslet::python
