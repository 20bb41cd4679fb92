#include "framework/base/interruption.h"

#include "framework/base/error.h"

namespace lenslet {
namespace {

bool (*stop_reading)() = nullptr;

}  // namespace

void stop_reading_when(bool (*stop)()) { stop_reading = stop; }

bool reading_stopped() { return stop_reading && stop_reading(); }

void throw_if_reading_stopped() {
  if (reading_stopped()) throw InterruptedError("interrupted while reading a file");
}

}  // namespace lenslet
