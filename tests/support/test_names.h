// Names of the instances of a parameterised test, for INSTANTIATE_TEST_SUITE_P.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

namespace lenslet {

/// By the parameter: a text, a struct's member `name`, or two of these joined by '_'. GoogleTest takes no '.'.
struct ByName {
  template <typename Parameter>
  std::string operator()(const testing::TestParamInfo<Parameter>& test) const {
    std::string name = text(test.param);
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  }

 private:
  static std::string text(const std::string& value) { return value; }
  template <typename Row>
  static auto text(const Row& row) -> decltype(std::string(row.name)) {
    return row.name;
  }
  template <typename First, typename Second>
  static std::string text(const std::tuple<First, Second>& pair) {
    return text(std::get<0>(pair)) + "_" + text(std::get<1>(pair));
  }
};

}  // namespace lenslet
