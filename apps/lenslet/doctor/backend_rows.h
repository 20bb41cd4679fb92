// Rows of `lenslet backends`: what each backend of a layer, and of the whole network, supports on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/device/device.h"
#include "framework/graph/graph.h"
#include "framework/graph/layer.h"
#include "framework/measuring/row_status.h"

namespace lenslet {

/// A layer for given input shapes.
struct ShapedLayer {
  std::string name;
  const Layer* layer = nullptr;
  std::vector<Shape> inputs;
};

struct BackendRow {
  std::string layer, problem, type, backend;
  Device device;
  int rank = 0;
  bool uses_math = false;
  bool is_auto = false;           // `auto` takes this backend, in the requested math mode or a more exact one
  std::vector<Support> supports;  // by kMathModes
  std::vector<std::string> reads,
      writes;                     // of the whole network: element types in the requested math mode
  std::string workspace = "-";    // formatted for people
  int64_t workspace_bytes = -1;   // -1: unknown
  std::string determinism = "-";  // the promised determinism (framework/graph/determinism.h), if supported
  std::string observed;           // how its results repeat: "bitwise", "per preparation", "no" or "not run"
  std::string status = row_status::kPassed, reason;  // ERROR: the device failed
};

/// What to list.
struct BackendQuery {
  Device device;
  bool usable = true;  // false: list without running anything
  MathMode math = MathMode::kFp32;
  size_t workspace_limit = SIZE_MAX;
  std::function<void()> pulse;  // called between what is run, to show the progress; may be empty
};

/// One row per backend, in rank order. After a fault the rows end with it, and the device is lost.
std::vector<BackendRow> layer_rows(const ShapedLayer& shaped, const BackendQuery& query);

}  // namespace lenslet
