// The C interface without memory: every allocation of a call fails once; each time the call returns a status and a
// message, and leaves no broken state. liblenslet.so uses operator new of this program.
#include <gtest/gtest.h>
#include <lenslet.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace {
// Allocations of this thread until one fails; below zero: none fails.
thread_local long until_failure = -1;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (until_failure >= 0 && until_failure-- == 0) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* data = allocate(bytes, alignment)) return data;
  throw std::bad_alloc();
}
// Not inlined: GCC would see free() beside an operator new that it did not inline, and warn of a mismatch.
[[gnu::noinline]] void release(void* data) noexcept { std::free(data); }
}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void operator delete(void* data) noexcept { release(data); }
void operator delete[](void* data) noexcept { release(data); }
void operator delete(void* data, std::size_t) noexcept { release(data); }
void operator delete[](void* data, std::size_t) noexcept { release(data); }
void operator delete(void* data, std::align_val_t) noexcept { release(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { release(data); }

namespace {

// Makes allocation 0, 1, 2, … (or every `step`th) of `call` fail until the call succeeds; every failure must be
// reported.
template <typename Call>
long fail_every_allocation(Call&& call, long step = 1) {
  constexpr long kEnough = 100000;
  for (long failing = 0; failing < kEnough; failing += step) {
    until_failure = failing;
    const lenslet_status status = call();
    const bool fired = until_failure < 0;
    until_failure = -1;
    if (!fired) {
      EXPECT_EQ(status, LENSLET_OK) << lenslet_last_error();
      return failing;
    }
    // If an optional allocation (a temporary buffer) fails, the call still succeeds.
    if (status == LENSLET_OK) continue;
    EXPECT_EQ(status, LENSLET_ERROR_MEMORY) << "allocation " << failing << ": " << lenslet_last_error();
    EXPECT_NE(std::strlen(lenslet_last_error()), 0u);
    if (testing::Test::HasFailure()) return failing;
  }
  ADD_FAILURE() << "the call never ended";
  return kEnough;
}

lenslet_options cpu() {
  lenslet_options options;
  lenslet_options_init(&options, sizeof options);
  options.device = "cpu";
  return options;
}

TEST(OutOfMemory, WhileAModelIsMade) {
  const lenslet_options options = cpu();
  const long failures = fail_every_allocation([&] {
    lenslet_model* model = nullptr;
    const lenslet_status status = lenslet_model_built_in(&options, &model);
    EXPECT_EQ(model != nullptr, status == LENSLET_OK);
    lenslet_model_destroy(model);
    return status;
  });
  EXPECT_GT(failures, 50);
}

TEST(OutOfMemory, WhileAModelAnswers) {
  lenslet_options options = cpu();
  for (const char* plan : {"fused", "layered"}) {
    options.plan = plan;
    lenslet_model* model = nullptr;
    ASSERT_EQ(lenslet_model_built_in(&options, &model), LENSLET_OK) << lenslet_last_error();
    std::vector<uint8_t> pixels(40 * LENSLET_PIXELS);
    ASSERT_EQ(lenslet_read_digit(LENSLET_SOURCE_DIR "/samples/digit_6_a.png", pixels.data()), LENSLET_OK);
    constexpr long kSomeStep = 11;   // and the call differs each time
    constexpr long kTimedStep = 97;  // a profile warms up for 50 ms each time
    lenslet_prediction answers[40] = {};
    int64_t count = 1;
    fail_every_allocation(
        [&] {
          // Another number of pictures each time, so that each call must prepare.
          count = count % 40 + 1;
          return lenslet_predict_u8(model, pixels.data(), count, answers);
        },
        kSomeStep);
    EXPECT_EQ(answers[0].label, 6);
    char text[4096];
    // Opens the vendors' libraries first, because their initialisation ends the process without memory.
    ASSERT_EQ(lenslet_model_backends(model, 1, text, sizeof text, nullptr), LENSLET_OK);
    fail_every_allocation([&] { return lenslet_model_backends(model, 1, text, sizeof text, nullptr); });
    fail_every_allocation([&] { return lenslet_profile(model, 1, 0, nullptr, 0, nullptr, nullptr); },
                          kTimedStep);
    lenslet_model_destroy(model);
  }
}

TEST(OutOfMemory, WhileAPictureIsRead) {
  uint8_t pixels[LENSLET_PIXELS];
  const long failures = fail_every_allocation(
      [&] { return lenslet_read_digit(LENSLET_SOURCE_DIR "/samples/digit_6_a.png", pixels); });
  EXPECT_GT(failures, 5);
}

}  // namespace
