// Pictures of numbers as people take them, drawn, each with the expected answer.
#pragma once

#include <string>
#include <vector>

#include "framework/io/picture.h"

namespace lenslet::test {

/// A picture with the number that it shows; empty: none.
struct NumberPicture {
  std::string name;    // "table_edge"
  std::string number;  // "2026"
  std::string reason;  // how the refusal begins, if there is no number
  Picture picture;
};
/// 39 pictures, each as another kind of person would take it.
std::vector<NumberPicture> number_pictures();

}  // namespace lenslet::test
