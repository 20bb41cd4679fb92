// Pictures: unreadable ones, ones that are far larger than their file, and unusual valid ones.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kPictures[] = {
    {"missing", "{classify} {dir}/bad/none.png", kData, "none.png"},
    {"empty", "{classify} {dir}/bad/empty.png", kData, "empty"},
    {"text", "{classify} {dir}/bad/text.png", kData, "text.png|PNG|JPEG"},
    {"cut_png", "{classify} {dir}/bad/cut.png", kData, "cut.png"},
    {"cut_pgm", "{classify} {dir}/bad/cut.pgm", kData, "cut.pgm"},
    {"cut_jpg", "{classify} {dir}/bad/cut.jpg", kData, "cut.jpg"},
    {"zero_pixels", "{classify} {dir}/bad/zero.pgm", kData, "zero.pgm"},
    {"webp", "{classify} {dir}/bad/picture.webp", kData, "WebP"},
    {"gif", "{classify} {dir}/bad/picture.gif", kData, "GIF"},
    {"heic", "{classify} {dir}/bad/photo.heic", kData, "photo.heic|HEIC|PNG, JPEG"},
    {"jpeg_xl", "{classify} {dir}/bad/photo.jxl", kData, "photo.jxl|JPEG XL|PNG, JPEG"},
    {"jpeg_2000", "{classify} {dir}/bad/photo.jp2", kData, "photo.jp2|JPEG 2000|PNG, JPEG"},
    {"icon", "{classify} {dir}/bad/favicon.ico", kData, "favicon.ico|Windows icon|PNG, JPEG"},
    {"zeros", "{classify} {dir}/bad/zeros.png", kData, "zeros.png|expected a picture"},
    {"fifo", "{classify} {dir}/bad/fifo.png", kData, "FIFO"},
    {"device_zero", "{classify} /dev/zero", kData, "device"},
    {"symlink_loop", "{classify} {dir}/bad/loop.png", kData, "loop.png"},
    {"folder_without", "{classify} {dir}/nothing", kData, "nothing|no picture"},
    {"empty_stdin", "{classify} -", kData, "standard input|empty"},
    {"half_png", "{classify} {dir}/bad/half.png", kData, "half.png"},
    {"half_jpg", "{classify} {dir}/bad/half.jpg", kData, "half.jpg"},
    {"half_bmp", "{classify} {dir}/bad/half.bmp", kData, "half.bmp"},
    {"half_pgm", "{classify} {dir}/bad/half.pgm", kData, "half.pgm"},
    {"cut_bmp", "{classify} {dir}/bad/cut.bmp", kData, "cut.bmp"},
    {"negative_pgm", "{classify} {dir}/bad/negative.pgm", kData, "negative.pgm"},
    {"dangling_png", "{classify} {dir}/bad/dangling.png", kData, "dangling.png"},
    {"long_name", "{classify} {long}", kData, "xxx|too long"},
    {"odd_name", "{classify} {dir}/bad/a{space}b{newline}{bytes}.png", kData, "a b\\n\\xff\\xfe.png"},
    {"unreadable", "{classify} {dir}/bad/unreadable.pgm", kData, "unreadable.pgm|Permission denied",
     "rights:none"},
    {"closed_stdin", "{classify} -", kData, "standard input", "stdin:closed"},
    {"terminal_on_stdin", "{classify} -", kUsage, "standard input|terminal", "stdin:terminal"},
};

constexpr BadInput kBombs[] = {
    {"inflates_png", "{classify} {dir}/bombs/inflates.png", kData, "inflates.png"},
    {"30000_png", "{classify} {dir}/bombs/30000.png", kData, "30000"},
    {"2147483647_png", "{classify} {dir}/bombs/2147483647.png", kData, "2147483647"},
    {"huge_pgm", "{classify} {dir}/bombs/huge.pgm", kData, "huge.pgm|width is above"},
    {"huge_pbm", "{classify} {dir}/bombs/huge.pbm", kData, "99999"},
    {"huge_bmp", "{classify} {dir}/bombs/huge.bmp", kData, "2147483647"},
    {"huge_jpg", "{classify} {dir}/bombs/huge.jpg", kData, "huge.jpg"},
};

constexpr BadInput kMaxPixels[] = {
    {"as_many", "{classify} {source}/samples/digit_3_a.png --max-image-pixels 1600", kOk, "digit_3_a.png: 3"},
    {"one_less", "{classify} {source}/samples/digit_3_a.png --max-image-pixels 1599", kData,
     "digit_3_a.png: the picture is 40x40 pixels, expected at most 1599;|--max-image-pixels"},
    {"default", "{classify} {dir}/bombs/400000.pgm", kData, "400000x400000 pixels, expected at most"},
    {"largest", "{classify} {dir}/bombs/400000.pgm --max-image-pixels 268435456", kData,
     "400000x400000 pixels, expected at most"},
    // Memory is allocated only after the data has been read.
    {"cut", "{classify} {dir}/bombs/16384.pgm --max-image-pixels 268435456", kData, "4 of 268435456 bytes"},
    {"zero", "{classify} - --max-image-pixels 0", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456"},
    {"negative", "{classify} - --max-image-pixels -1", kUsage, "--max-image-pixels|'-1'"},
    {"exponent", "{classify} - --max-image-pixels 1e6", kUsage, "--max-image-pixels|'1e6'"},
    {"unit", "{classify} - --max-image-pixels 64M", kUsage, "--max-image-pixels|'64M'"},
    {"one_more", "{classify} - --max-image-pixels 268435457", kUsage, "--max-image-pixels|'268435457'"},
    {"above_64_bits", "{classify} - --max-image-pixels 99999999999999999999", kUsage, "--max-image-pixels"},
    {"word", "{classify} - --max-image-pixels x", kUsage, "--max-image-pixels|'x'"},
};

constexpr BadInput kOddButRight[] = {
    {"grey_png", "{classify} {dir}/kinds/grey.png", kOk, "grey.png: 1 "},
    {"grey_alpha_png", "{classify} {dir}/kinds/grey_alpha.png", kOk, "grey_alpha.png: 1 "},
    {"rgb_png", "{classify} {dir}/kinds/rgb.png", kOk, "rgb.png: 1 "},
    {"rgba_png", "{classify} {dir}/kinds/rgba.png", kOk, "rgba.png: 1 "},
    {"deep_png", "{classify} {dir}/kinds/deep.png", kOk, "deep.png: 1 "},
    {"palette_png", "{classify} {dir}/kinds/palette.png", kOk, "palette.png: 1 "},
    {"cmyk_jpg", "{classify} {dir}/kinds/cmyk.jpg", kOk, "cmyk.jpg: 1 "},
    {"progressive_jpg", "{classify} {dir}/kinds/progressive.jpg", kOk, "progressive.jpg: 1 "},
    {"wide_png", "{classify} {dir}/kinds/wide.png", kOk, "wide.png: "},
    {"tall_png", "{classify} {dir}/kinds/tall.png", kOk, "tall.png: 1 "},
    {"one_pixel", "{classify} {dir}/kinds/pixel.pgm", kOk, "blank"},
    {"strip", "{classify} {dir}/kinds/strip.pgm", kOk, "blank"},
    {"strip_with_ink", "{classify} {dir}/kinds/strip_ink.png", kOk, "strip_ink.png: "},
    {"grey_bmp", "{classify} {dir}/kinds/grey.bmp", kOk, "blank"},
    {"constant", "{classify} {dir}/pics/blank.pgm", kOk, "blank"},
    {"odd_names", "{classify} {dir}/odd", kOk, "-dash.pgm: 1|new\\nline.pgm: 1|not-utf8-\\xff\\xfe.pgm: 1"},
    {"name_with_space", "{classify} {dir}/pics/with{space}space.pgm", kOk, "with space.pgm: 1"},
    {"name_after_dashes", "{classify} -- {dir}/odd/-dash.pgm", kOk, "-dash.pgm: 1"},
};

INSTANTIATE_TEST_SUITE_P(Pictures, BadInputTest, testing::ValuesIn(kPictures), name_of);
INSTANTIATE_TEST_SUITE_P(Bombs, BadInputTest, testing::ValuesIn(kBombs), name_of);
INSTANTIATE_TEST_SUITE_P(MaxImagePixels, BadInputTest, testing::ValuesIn(kMaxPixels), name_of);
INSTANTIATE_TEST_SUITE_P(OddButRight, BadInputTest, testing::ValuesIn(kOddButRight), name_of);

}  // namespace
}  // namespace lenslet::test
