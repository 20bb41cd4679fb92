// IDX files, plain and gzipped.
#include "tests/cli/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kIdx[] = {
    {"no_folder", "{eval_of}/not-there", kData, "not-there"},
    {"empty_folder", "{eval_of}/nothing", kData, "t10k-images"},
    {"file_as_folder", "{eval_of}/pics/one.pgm", kData, "one.pgm"},
    {"other_split", "{eval} --split train", kData, "train"},
    {"short", "{eval_of}/short", kData, "t10k-images|15596 of 15696"},
    {"long", "{eval_of}/long", kData, "t10k-images|15696"},
    {"magic", "{eval_of}/magic", kData, "t10k-images|01 02 03 04"},
    {"swapped", "{eval_of}/swapped", kData, "t10k-images|00 00 08 01|00 00 08 03"},
    {"rank4", "{eval_of}/rank4", kData, "t10k-images|4|3"},
    {"zero", "{eval_of}/zero", kData, "t10k-images"},
    {"huge", "{eval_of}/huge", kData, "t10k-images|4294967295"},
    {"narrow", "{eval_of}/narrow", kData, "t10k-images|27x28|28x28"},
    {"fewer_labels", "{eval_of}/fewer", kData, "t10k-images|20|t10k-labels|19"},
    {"label_11", "{eval_of}/label11", kData, "t10k-labels|label 11 at index 7|0 to 9"},
    {"empty_files", "{eval_of}/emptyfiles", kData, "t10k-images|empty"},
    {"idx_index", "{classify} --index 20 {dir}/data/t10k-images-idx3-ubyte", kData, "--index 20|20 images"},
    {"idx_narrow", "{classify} {dir}/narrow/t10k-images-idx3-ubyte", kData, "28x28|27x28"},
    {"idx_labels", "{classify} {dir}/data/t10k-labels-idx1-ubyte", kData, "t10k-labels"},
    {"no_labels", "{eval_of}/no_labels", kData, "t10k-labels"},
    {"idx_folder", "{eval_of}/idx_folder", kData, "t10k-images-idx3-ubyte|a directory"},
    {"idx_zero", "{eval_of}/idx_zero", kData, "t10k-images-idx3-ubyte|a device"},
    {"idx_fifo", "{eval_of}/idx_fifo", kData, "t10k-images-idx3-ubyte|a FIFO"},
    {"idx_loop", "{eval_of}/idx_loop", kData, "t10k-images"},
    {"gzip_cut_data", "{eval_of}/gz_cut_data", kData, "t10k-images-idx3-ubyte.gz|truncated"},
    {"gzip_cut_behind_the_limit", "{classify} {dir}/gz_cut_data/t10k-images-idx3-ubyte.gz --limit 1", kOk,
     "ubyte.gz[0]"},
    {"gzip_cut_behind_the_index", "{classify} {dir}/gz_cut_data/t10k-images-idx3-ubyte.gz --index 1", kOk,
     "ubyte.gz[1]"},
    {"gzip_cut_before_the_limit", "{classify} {dir}/gz_cut_data/t10k-images-idx3-ubyte.gz --limit 20", kData,
     "t10k-images-idx3-ubyte.gz|truncated"},
    {"index_beyond_all_bounds", "{classify} {dir}/data/t10k-images-idx3-ubyte --index 9223372036854775807",
     kData, "--index 9223372036854775807 is outside its 20 images"},
    {"gzip_bomb", "{eval_of}/gz_bomb", kData, "t10k-images-idx3-ubyte.gz|15696"},
    {"gzip_wide", "{eval_of}/gz_wide", kData,
     "t10k-images-idx3-ubyte.gz|expected images of 28x28, found 8192x16384"},
    {"gzip_wide_classified", "{classify} {dir}/gz_wide/t10k-images-idx3-ubyte.gz", kData,
     "gz_wide|expected images of 28x28, found 8192x16384"},
    {"gzip_by_content_named_plain", "{eval_of}/gz_named_plain --limit 5", kOk, "5 of 20 images"},
    {"plain_by_content_named_gzip", "{eval_of}/plain_named_gz --limit 5", kOk, "5 of 20 images"},
    {"idx_bomb_classified", "{classify} {dir}/gz_bomb/t10k-images-idx3-ubyte.gz", kData, "gz_bomb|15696"},
    {"odd_folder", "{eval_of}/none{space}of{newline}{bytes}", kData, "none of\\n\\xff\\xfe"},
};

INSTANTIATE_TEST_SUITE_P(Idx, BadInputTest, testing::ValuesIn(kIdx), name_of);

}  // namespace
}  // namespace lenslet::test
