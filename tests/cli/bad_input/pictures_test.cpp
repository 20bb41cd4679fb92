// Pictures: unreadable ones, ones that are far larger than their file, and unusual valid ones.
#include "tests/cli/bad_input/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kPictures[] = {
    {"missing", "{classify} {dir}/bad/none.png", kData,
     "none.png: cannot be opened: No such file or directory"},
    {"index", "{classify} {dir}/pics/one.pgm --index 3", kData,
     "one.pgm: --index 3 selects an image of an IDX file, and this is a single picture"},
    {"empty", "{classify} {dir}/bad/empty.png", kData,
     "empty.png: the file is empty, expected a PNG, JPEG, BMP or PNM picture"},
    {"text", "{classify} {dir}/bad/text.png", kData,
     "text.png: expected a PNG, JPEG, BMP or PNM picture, found|found text"},
    {"cut_png", "{classify} {dir}/bad/cut.png", kData,
     "cut.png: PNG: truncated: 8 bytes, the IEND chunk is missing"},
    {"cut_pgm", "{classify} {dir}/bad/cut.pgm", kData, "cut.pgm: PNM: truncated: 3 of 784 bytes of pixels"},
    {"cut_jpg", "{classify} {dir}/bad/cut.jpg", kData,
     "cut.jpg: JPEG: truncated: the file ends within the picture"},
    {"zero_pixels", "{classify} {dir}/bad/zero.pgm", kData,
     "zero.pgm: the picture is 0x0 pixels, expected at least 1x1"},
    {"webp", "{classify} {dir}/bad/picture.webp", kData,
     "expected a PNG, JPEG, BMP or PNM picture, found|found a WebP file; convert it"},
    {"gif", "{classify} {dir}/bad/picture.gif", kData,
     "expected a PNG, JPEG, BMP or PNM picture, found|found a GIF file; convert it"},
    {"heic", "{classify} {dir}/bad/photo.heic", kData, "photo.heic|PNG, JPEG|found a HEIC file"},
    {"jpeg_xl", "{classify} {dir}/bad/photo.jxl", kData, "photo.jxl|PNG, JPEG|found a JPEG XL file"},
    {"jpeg_2000", "{classify} {dir}/bad/photo.jp2", kData, "photo.jp2|PNG, JPEG|found a JPEG 2000 file"},
    {"icon", "{classify} {dir}/bad/favicon.ico", kData, "favicon.ico|PNG, JPEG|found a Windows icon file"},
    {"zeros", "{classify} {dir}/bad/zeros.png", kData,
     "zeros.png: expected a PNG, JPEG, BMP or PNM picture|found an unknown format"},
    {"fifo", "{classify} {dir}/bad/fifo.png", kData, "expected a regular file, found a FIFO"},
    {"device_zero", "{classify} /dev/zero", kData, "/dev/zero: expected a regular file, found a device"},
    {"symlink_loop", "{classify} {dir}/bad/loop.png", kData,
     "loop.png: cannot be opened: Too many levels of symbolic links"},
    {"folder_without", "{classify} {dir}/nothing", kData, "nothing|no picture"},
    {"empty_stdin", "{classify} -", kData,
     "standard input: the file is empty, expected a PNG, JPEG, BMP or PNM picture"},
    {"half_png", "{classify} {dir}/bad/half.png", kData,
     "half.png: PNG: truncated in chunk IDAT: 54 of 141 bytes"},
    {"half_jpg", "{classify} {dir}/bad/half.jpg", kData,
     "half.jpg: JPEG: truncated: the file ends within the picture"},
    {"half_bmp", "{classify} {dir}/bad/half.bmp", kData,
     "half.bmp: BMP: truncated: 69 of 192 bytes of pixels"},
    {"half_pgm", "{classify} {dir}/bad/half.pgm", kData,
     "half.pgm: PNM: truncated: 385 of 784 bytes of pixels"},
    {"cut_bmp", "{classify} {dir}/bad/cut.bmp", kData,
     "cut.bmp: expected a PNG, JPEG, BMP or PNM picture|found text"},
    {"negative_pgm", "{classify} {dir}/bad/negative.pgm", kData,
     "negative.pgm: PNM: expected the width as a decimal number, found '-' at byte 3"},
    {"dangling_png", "{classify} {dir}/bad/dangling.png", kData,
     "dangling.png: cannot be opened: No such file or directory"},
    {"long_name", "{classify} {long}", kData, "xxx|too long"},
    {"odd_name", "{classify} {dir}/bad/a{space}b{newline}{bytes}.png", kData,
     "a b\\n\\xff\\xfe.png: cannot be opened: No such file or directory"},
    {"unreadable", "{classify} {dir}/bad/unreadable.pgm", kData, "unreadable.pgm|Permission denied",
     "rights:none"},
    {"closed_stdin", "{classify} -", kData, "standard input: cannot be read: Bad file descriptor",
     "stdin:closed"},
    {"terminal_on_stdin", "{classify} -", kUsage,
     "from standard input, which is a terminal here; redirect a file", "stdin:terminal"},
};

constexpr BadInput kBombs[] = {
    {"inflates_png", "{classify} {dir}/bombs/inflates.png", kData,
     "inflates.png: PNG: |bytes of data for a picture that takes 2 uncompressed"},
    {"30000_png", "{classify} {dir}/bombs/30000.png", kData,
     "30000x30000 pixels, expected at most 67108864; scale it down, or raise the limit (--max-image-pixels)"},
    {"2147483647_png", "{classify} {dir}/bombs/2147483647.png", kData,
     "2147483647x2147483647 pixels, expected at most"},
    {"huge_pgm", "{classify} {dir}/bombs/huge.pgm", kData, "huge.pgm|width is above"},
    {"huge_pbm", "{classify} {dir}/bombs/huge.pbm", kData, "99999x99999 pixels, expected at most"},
    {"huge_bmp", "{classify} {dir}/bombs/huge.bmp", kData, "2147483647x2147483647 pixels, expected at most"},
    {"huge_jpg", "{classify} {dir}/bombs/huge.jpg", kData,
     "huge.jpg: the picture is 65500x65500 pixels, expected at most"},
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
     "--max-image-pixels expects a whole number from 1 to 268435456, found '0'"},
    {"negative", "{classify} - --max-image-pixels -1", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found '-1'"},
    {"exponent", "{classify} - --max-image-pixels 1e6", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found '1e6'"},
    {"unit", "{classify} - --max-image-pixels 64M", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found '64M'"},
    {"one_more", "{classify} - --max-image-pixels 268435457", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found '268435457'"},
    {"above_64_bits", "{classify} - --max-image-pixels 99999999999999999999", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found '99999999999999999999'"},
    {"word", "{classify} - --max-image-pixels x", kUsage,
     "--max-image-pixels expects a whole number from 1 to 268435456, found 'x'"},
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
    {"wide_png", "{classify} {dir}/kinds/wide.png", kOk, "wide.png: no digit: "},
    {"tall_png", "{classify} {dir}/kinds/tall.png", kOk, "tall.png: 1 "},
    {"one_pixel", "{classify} {dir}/kinds/pixel.pgm", kOk, "blank: no ink found"},
    {"strip", "{classify} {dir}/kinds/strip.pgm", kOk, "blank: no ink found"},
    {"strip_with_ink", "{classify} {dir}/kinds/strip_ink.png", kOk,
     "strip_ink.png: touching digits, lines of the paper, or no digit: a mark of 333x3 pixels"},
    {"grey_bmp", "{classify} {dir}/kinds/grey.bmp", kOk, "blank: no ink found"},
    {"constant", "{classify} {dir}/pics/blank.pgm", kOk, "blank: no ink found"},
    {"odd_names", "{classify} {dir}/odd", kOk, "-dash.pgm: 1|new\\nline.pgm: 1|not-utf8-\\xff\\xfe.pgm: 1"},
    {"name_with_space", "{classify} {dir}/pics/with{space}space.pgm", kOk, "with space.pgm: 1"},
    {"name_after_dashes", "{classify} -- {dir}/odd/-dash.pgm", kOk, "-dash.pgm: 1"},
};

INSTANTIATE_TEST_SUITE_P(Pictures, BadInputTest, testing::ValuesIn(kPictures), ByName());
INSTANTIATE_TEST_SUITE_P(Bombs, BadInputTest, testing::ValuesIn(kBombs), ByName());
INSTANTIATE_TEST_SUITE_P(MaxImagePixels, BadInputTest, testing::ValuesIn(kMaxPixels), ByName());
INSTANTIATE_TEST_SUITE_P(OddButRight, BadInputTest, testing::ValuesIn(kOddButRight), ByName());

}  // namespace
}  // namespace lenslet::test
