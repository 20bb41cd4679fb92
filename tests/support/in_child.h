// Runs a part of a test in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace lenslet::test {

/// The wait status of a forked child that calls exit() with the result of `body`. SIGALRM ends a hanging child.
inline int in_child(const std::function<int()>& body) {
  constexpr unsigned kDeadlineS = 600;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kDeadlineS);
    std::exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace lenslet::test
