// Checks that a call throws an error of one type whose message is one line and contains the given words.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace lenslet {

template <typename ErrorType, typename Function>
void expect_error(Function&& function, const std::string& fragment) {
  try {
    function();
    ADD_FAILURE() << "no error; expected one with: " << fragment;
  } catch (const ErrorType& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(fragment), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
  }
}

}  // namespace lenslet
