// What a picture's bytes are decoded to, or why they are refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "framework/base/error.h"
#include "framework/io/picture.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"

namespace lenslet::test {

inline void expect_picture(const Bytes& file, int width, int height, int channels, const Bytes& pixels) {
  const Picture picture = decode_picture(file, "picture");
  EXPECT_EQ(picture.width, width);
  EXPECT_EQ(picture.height, height);
  EXPECT_EQ(picture.channels, channels);
  EXPECT_EQ(picture.pixels, pixels);
}

inline void expect_refused(const Bytes& file, const std::string& fragment) {
  expect_error<DataError>([&] { decode_picture(file, "picture"); }, fragment, "picture: ");
}

}  // namespace lenslet::test
