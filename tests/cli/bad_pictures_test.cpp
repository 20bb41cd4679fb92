// Pictures: what cannot be read, what is far larger than its file, and what is odd but right.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kPictures[] = {
    {"missing", "lenslet classify --device cpu {dir}/bad/none.png", kData, "none.png"},
    {"empty", "lenslet classify --device cpu {dir}/bad/empty.png", kData, "empty"},
    {"text", "lenslet classify --device cpu {dir}/bad/text.png", kData, "text.png|PNG|JPEG"},
    {"cut_png", "lenslet classify --device cpu {dir}/bad/cut.png", kData, "cut.png"},
    {"cut_pgm", "lenslet classify --device cpu {dir}/bad/cut.pgm", kData, "cut.pgm"},
    {"cut_jpg", "lenslet classify --device cpu {dir}/bad/cut.jpg", kData, "cut.jpg"},
    {"zero_pixels", "lenslet classify --device cpu {dir}/bad/zero.pgm", kData, "zero.pgm"},
    {"webp", "lenslet classify --device cpu {dir}/bad/picture.webp", kData, "WebP"},
    {"gif", "lenslet classify --device cpu {dir}/bad/picture.gif", kData, "GIF"},
    {"heic", "lenslet classify --device cpu {dir}/bad/photo.heic", kData, "photo.heic|HEIC|PNG, JPEG"},
    {"jpeg_xl", "lenslet classify --device cpu {dir}/bad/photo.jxl", kData, "photo.jxl|JPEG XL|PNG, JPEG"},
    {"jpeg_2000", "lenslet classify --device cpu {dir}/bad/photo.jp2", kData,
     "photo.jp2|JPEG 2000|PNG, JPEG"},
    {"icon", "lenslet classify --device cpu {dir}/bad/favicon.ico", kData,
     "favicon.ico|Windows icon|PNG, JPEG"},
    {"zeros", "lenslet classify --device cpu {dir}/bad/zeros.png", kData, "zeros.png|expected a picture"},
    {"fifo", "lenslet classify --device cpu {dir}/bad/fifo.png", kData, "FIFO"},
    {"device_zero", "lenslet classify --device cpu /dev/zero", kData, "device"},
    {"symlink_loop", "lenslet classify --device cpu {dir}/bad/loop.png", kData, "loop.png"},
    {"folder_without", "lenslet classify --device cpu {dir}/nothing", kData, "nothing|no picture"},
    {"empty_stdin", "lenslet classify --device cpu -", kData, "standard input|empty"},
    {"half_png", "lenslet classify --device cpu {dir}/bad/half.png", kData, "half.png"},
    {"half_jpg", "lenslet classify --device cpu {dir}/bad/half.jpg", kData, "half.jpg"},
    {"half_bmp", "lenslet classify --device cpu {dir}/bad/half.bmp", kData, "half.bmp"},
    {"half_pgm", "lenslet classify --device cpu {dir}/bad/half.pgm", kData, "half.pgm"},
    {"cut_bmp", "lenslet classify --device cpu {dir}/bad/cut.bmp", kData, "cut.bmp"},
    {"negative_pgm", "lenslet classify --device cpu {dir}/bad/negative.pgm", kData, "negative.pgm"},
    {"dangling_png", "lenslet classify --device cpu {dir}/bad/dangling.png", kData, "dangling.png"},
    {"long_name", "lenslet classify --device cpu {long}", kData, "xxx|too long"},
    {"odd_name", "lenslet classify --device cpu {dir}/bad/a{space}b{newline}{bytes}.png", kData,
     "a b\\n\\xff\\xfe.png"},
    {"unreadable", "lenslet classify --device cpu {dir}/bad/unreadable.pgm", kData,
     "unreadable.pgm|Permission denied", "rights:none"},
    {"closed_stdin", "lenslet classify --device cpu -", kData, "standard input", "stdin:closed"},
    {"terminal_on_stdin", "lenslet classify --device cpu -", kUsage, "standard input|terminal",
     "stdin:terminal"},
};

constexpr BadInput kBombs[] = {
    {"inflates_png", "lenslet classify --device cpu {dir}/bombs/inflates.png", kData, "inflates.png"},
    {"30000_png", "lenslet classify --device cpu {dir}/bombs/30000.png", kData, "30000"},
    {"2147483647_png", "lenslet classify --device cpu {dir}/bombs/2147483647.png", kData, "2147483647"},
    {"huge_pgm", "lenslet classify --device cpu {dir}/bombs/huge.pgm", kData, "huge.pgm|width is above"},
    {"huge_pbm", "lenslet classify --device cpu {dir}/bombs/huge.pbm", kData, "99999"},
    {"huge_bmp", "lenslet classify --device cpu {dir}/bombs/huge.bmp", kData, "2147483647"},
    {"huge_jpg", "lenslet classify --device cpu {dir}/bombs/huge.jpg", kData, "huge.jpg"},
};

constexpr BadInput kOddButRight[] = {
    {"grey_png", "lenslet classify --device cpu {dir}/kinds/grey.png", kOk, "grey.png: 1 "},
    {"grey_alpha_png", "lenslet classify --device cpu {dir}/kinds/grey_alpha.png", kOk, "grey_alpha.png: 1 "},
    {"rgb_png", "lenslet classify --device cpu {dir}/kinds/rgb.png", kOk, "rgb.png: 1 "},
    {"rgba_png", "lenslet classify --device cpu {dir}/kinds/rgba.png", kOk, "rgba.png: 1 "},
    {"deep_png", "lenslet classify --device cpu {dir}/kinds/deep.png", kOk, "deep.png: 1 "},
    {"palette_png", "lenslet classify --device cpu {dir}/kinds/palette.png", kOk, "palette.png: 1 "},
    {"cmyk_jpg", "lenslet classify --device cpu {dir}/kinds/cmyk.jpg", kOk, "cmyk.jpg: 1 "},
    {"progressive_jpg", "lenslet classify --device cpu {dir}/kinds/progressive.jpg", kOk,
     "progressive.jpg: 1 "},
    {"wide_png", "lenslet classify --device cpu {dir}/kinds/wide.png", kOk, "wide.png: "},
    {"tall_png", "lenslet classify --device cpu {dir}/kinds/tall.png", kOk, "tall.png: 1 "},
    {"one_pixel", "lenslet classify --device cpu {dir}/kinds/pixel.pgm", kOk, "blank"},
    {"strip", "lenslet classify --device cpu {dir}/kinds/strip.pgm", kOk, "blank"},
    {"strip_with_ink", "lenslet classify --device cpu {dir}/kinds/strip_ink.png", kOk, "strip_ink.png: "},
    {"grey_bmp", "lenslet classify --device cpu {dir}/kinds/grey.bmp", kOk, "blank"},
    {"constant", "lenslet classify --device cpu {dir}/pics/blank.pgm", kOk, "blank"},
    {"odd_names", "lenslet classify --device cpu {dir}/odd", kOk,
     "-dash.pgm: 1|new\\nline.pgm: 1|not-utf8-\\xff\\xfe.pgm: 1"},
    {"name_with_space", "lenslet classify --device cpu {dir}/pics/with{space}space.pgm", kOk,
     "with space.pgm: 1"},
    {"name_after_dashes", "lenslet classify --device cpu -- {dir}/odd/-dash.pgm", kOk, "-dash.pgm: 1"},
};

INSTANTIATE_TEST_SUITE_P(Pictures, BadInputTest, testing::ValuesIn(kPictures), name_of);
INSTANTIATE_TEST_SUITE_P(Bombs, BadInputTest, testing::ValuesIn(kBombs), name_of);
INSTANTIATE_TEST_SUITE_P(OddButRight, BadInputTest, testing::ValuesIn(kOddButRight), name_of);

}  // namespace
}  // namespace lenslet::test
