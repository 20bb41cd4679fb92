#include "apps/lenslet/pages/page.h"

#include <cstddef>

#include "apps/lenslet/pages/encode.h"
#include "framework/base/error.h"

namespace lenslet {

// Written by lenslet_embed() in CMakeLists.txt, one for each file of page/.
namespace embedded {
#define LENSLET_PAGE_PART(name)             \
  extern const unsigned char page_##name[]; \
  extern const std::size_t page_##name##_size
LENSLET_PAGE_PART(html);
LENSLET_PAGE_PART(style);
LENSLET_PAGE_PART(numbers);
LENSLET_PAGE_PART(samples);
LENSLET_PAGE_PART(pad);
LENSLET_PAGE_PART(tiles);
LENSLET_PAGE_PART(inspector);
LENSLET_PAGE_PART(network);
LENSLET_PAGE_PART(server);
LENSLET_PAGE_PART(main);
#undef LENSLET_PAGE_PART
}  // namespace embedded

namespace {

#define LENSLET_PAGE_TEXT(name) \
  std::string(reinterpret_cast<const char*>(embedded::page_##name), embedded::page_##name##_size)

// One scope for all files of the script, which share names.
const std::string& script() {
  static const std::string text =
      "\"use strict\";\n(() => {\n" + LENSLET_PAGE_TEXT(numbers) + LENSLET_PAGE_TEXT(samples) +
      LENSLET_PAGE_TEXT(pad) + LENSLET_PAGE_TEXT(tiles) + LENSLET_PAGE_TEXT(inspector) +
      LENSLET_PAGE_TEXT(network) + LENSLET_PAGE_TEXT(server) + LENSLET_PAGE_TEXT(main) + "})();\n";
  return text;
}

const std::string& style() {
  static const std::string text = LENSLET_PAGE_TEXT(style);
  return text;
}

std::string source_of(const std::string& text) {
  const auto digest = sha256(text);
  return "'sha256-" + base64(digest.data(), digest.size()) + "'";
}

// Throws std::out_of_range if the mark is not there.
void replace(std::string& text, const std::string& mark, const std::string& by) {
  text.replace(text.find(mark), mark.size(), by);
}

// JSON that cannot end the element around it: "<" occurs in its strings only.
std::string inside_html(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

const std::string& page_policy() {
  static const std::string policy =
      concat("default-src 'none'; script-src ", source_of(script()), "; style-src ", source_of(style()),
             "; img-src data: blob:; connect-src 'self'; base-uri 'none'; "
             "form-action 'none'");
  return policy;
}

std::string page_html(const std::string& json) {
  std::string text = LENSLET_PAGE_TEXT(html);
  replace(text, "{{policy}}", page_policy());
  replace(text, "{{style}}", style());
  replace(text, "{{script}}", script());
  replace(text, "{{data}}", inside_html(json));
  return text;
}

}  // namespace lenslet
