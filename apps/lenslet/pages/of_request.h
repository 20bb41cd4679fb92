// of_request(): calls a body whose choices came with a request.
#pragma once

#include "framework/base/error.h"

namespace lenslet {

/// Throws DataError where the body refuses a choice: the request is wrong, not the command line of the program.
template <class Body>
auto of_request(const Body& body) {
  try {
    return body();
  } catch (const UsageError& error) {
    throw DataError(error.what());
  } catch (const UnavailableError& error) {
    throw DataError(error.what());
  }
}

}  // namespace lenslet
