#include "framework/base/error.h"

#include <locale>
#include <sstream>

namespace lenslet::detail {

std::string join(std::initializer_list<Part> parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  for (const Part& part : parts) {
    switch (part.kind_) {
      case Part::Kind::kText:
        out << part.text_;
        break;
      case Part::Kind::kCharacter:
        out << static_cast<char>(part.whole_);
        break;
      case Part::Kind::kSigned:
        out << static_cast<long long>(part.whole_);
        break;
      case Part::Kind::kUnsigned:
        out << part.whole_;
        break;
      case Part::Kind::kReal:
        out << part.real_;
        break;
    }
  }
  return out.str();
}

}  // namespace lenslet::detail
