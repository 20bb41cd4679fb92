// Errors that a call throws: their messages, and what those must contain.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace lenslet {

/// The message of the error that `function` throws; empty if it throws none.
template <typename ErrorType, typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "";
}

/// Expects an error whose message is one line with each of the fragments, and returns the message.
template <typename ErrorType, typename Function, typename... Fragments>
std::string expect_error(Function&& function, const Fragments&... fragments) {
  const std::string message = message_of<ErrorType>(function);
  EXPECT_NE(message, "") << "no error";
  for (const std::string& fragment : std::initializer_list<std::string>{std::string(fragments)...})
    EXPECT_NE(message.find(fragment), std::string::npos)
        << "expected: " << fragment << "\nfound: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
  return message;
}

}  // namespace lenslet
