// Threads that the system may refuse.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "framework/base/error.h"

namespace lenslet {

/// Starts a thread that runs `body`. Throws refused_thread() if the system refuses it.
std::thread start_thread(const std::string& which, std::function<void()> body);

/// The error of a thread that could not be started: which one ("thread 2 of 8"), why, and what to do.
MemoryError refused_thread(const std::string& which, const std::string& reason);

}  // namespace lenslet
