// The encodings of a page against published vectors.
#include <gtest/gtest.h>

#include "apps/lenslet/pages/encode.h"
#include "apps/lenslet/pages/page.h"

namespace lenslet {
namespace {

std::string hex(const std::string& text) {
  std::string digits;
  for (const uint8_t byte : sha256(text)) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

// RFC 4648, section 10.
TEST(Encode, Base64) {
  const auto of = [](const std::string& text) { return base64(text.data(), text.size()); };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(of("\xff\xfe\xfd"), "//79");
}

// NIST's examples, and lengths around the end of a block.
TEST(Encode, Sha256) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Page, DataCannotEndItsElement) {
  const std::string html = page_html(R"({"name":"</script><script>alert(1)</script>"})");
  EXPECT_NE(html.find(R"({"name":"\u003c/script>\u003cscript>alert(1)\u003c/script>"})"), std::string::npos);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(html.find("{{"), std::string::npos);
}

}  // namespace
}  // namespace lenslet
