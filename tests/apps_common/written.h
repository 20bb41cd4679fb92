// A document as text.
#pragma once

#include <functional>
#include <string>

#include "apps/common/results/document.h"

namespace lenslet {

/// The text of a document with the members that `body` adds.
inline std::string written(const std::function<void(Document&)>& body) {
  std::string text;
  Document document([&](const std::string& part) { text += part; }, "lenslet.test/1", ResultEnvironment());
  body(document);
  document.finish();
  return text;
}

}  // namespace lenslet
