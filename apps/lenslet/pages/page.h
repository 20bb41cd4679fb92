// The page that shows a network at work: one HTML document with its style, its script and its data inside, which loads
// nothing from anywhere.
#pragma once

#include <string>

namespace lenslet {

/// The schema of a page's data.
inline constexpr const char* kPageSchema = "lenslet.page/1";

/// The document with `json` as its data (schema kPageSchema). The same for `lenslet show` and for `lenslet serve`.
std::string page_html(const std::string& json);

/// The content security policy of that document: its own script and style, pictures inside it, requests to its own
/// origin, nothing else. Without `frame-ancestors`, which only a header can have.
const std::string& page_policy();

}  // namespace lenslet
