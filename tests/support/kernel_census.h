// Which kernels of a program its problems exercise, and in which directions of a launch. The kernels are those that the
// program registers with the CUDA runtime, so that a new instantiation without a problem is missed. Simulated GPUs
// (simulated_gpu.h) record the launches: no GPU is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/simulated_gpu.h"

namespace lenslet {

/// One direction of a launch: `count` items, `tile` of them per tile.
struct Direction {
  const char* of;
  int64_t count, tile;
};
using Directions = std::vector<Direction>;

/// A launch of the kernel of that name, and the numbers among its template arguments; true is 1.
struct Seen {
  const simulated_gpu::Launch& launch;
  const std::string& name;
  const std::vector<int>& numbers;

  template <typename T>
  const T& argument(int index) const {
    return *static_cast<const T*>(launch.arguments[index]);
  }
  int64_t threads() const { return launch.block.x; }
  int number(size_t index) const { return numbers.at(index); }
};

/// The directions in which a launch divides its problem.
using DirectionReader = Directions (*)(const Seen&);

/// Kernels and directions that no problem can exercise, with the reason.
struct Exempt {
  const char* kernel;     // a regular expression for its whole name
  const char* direction;  // the same for its name; empty: the kernel cannot be launched at all
  const char* reason;
};

class KernelCensus {
 public:
  /// `readers` by the kernel's name without template arguments. A kernel without one is held to two blocks.
  KernelCensus(std::map<std::string, DirectionReader> readers, std::vector<Exempt> exempt);
  ~KernelCensus();
  KernelCensus(const KernelCensus&) = delete;
  KernelCensus& operator=(const KernelCensus&) = delete;

  /// Inserts the simulated GPU, forgets the launches so far and records the next ones.
  void begin(const simulated_gpu::Gpu& gpu);
  /// Whether a kernel whose name contains `part` was launched.
  bool launched(const std::string& part) const;
  /// What no launch has shown, of the kernels that `counted` accepts by the name without template arguments:
  /// "kernel: is never launched", or "kernel: direction" for a direction without two tiles, the last partly filled.
  std::vector<std::string> missing(const std::function<bool(const std::string&)>& counted) const;
  /// The kernels that `counted` accepts.
  int count(const std::function<bool(const std::string&)>& counted) const;

 private:
  struct Kernel {
    std::string name, base;
    std::vector<int> numbers;
    DirectionReader reader;
    std::map<std::string, bool> shown;  // by direction; empty: never launched
  };
  void record(const simulated_gpu::Launch& launch);
  bool exempt(const std::string& kernel, const std::string& direction) const;

  std::vector<Exempt> exempt_;
  std::map<const void*, Kernel> kernels_;  // by address
};

/// The directions of bias_rectifier_kernel, which layers of several kinds launch.
Directions directions_of_bias_rectifier(const Seen& seen);

}  // namespace lenslet
