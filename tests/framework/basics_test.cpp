// Shapes, lists and numbers of a text, devices, backend specs, threads, caches, statistics, modules.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/parallel.h"
#include "framework/base/parse_number.h"
#include "framework/base/serial_loops.h"
#include "framework/device/device.h"
#include "framework/graph/backend_spec.h"
#include "framework/graph/module.h"
#include "framework/measuring/cpu_caches.h"
#include "framework/measuring/statistics.h"
#include "framework/tensor/math_mode.h"
#include "framework/tensor/shape.h"
#include "framework/tensor/tensor.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

TEST(Shape, HasSizeAndNames) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ(shape.bytes(), 96u);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape.to_string(), "2x3x4");
  EXPECT_EQ(Shape{}.to_string(), "scalar");
  EXPECT_NE(shape, (Shape{2, 3, 5}));
}

TEST(Shape, ListsItsDimensions) {
  EXPECT_EQ(Shape({2, 3, 4}).dims(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(Shape().dims(), std::vector<int64_t>());
}

TEST(Shape, RefusesOverflowAndNegatives) {
  expect_error<DataError>([] { Shape({int64_t{1} << 31, int64_t{1} << 31, 4}); }, "overflows at dimension");
  expect_error<DataError>([] { Shape({3, -1}); }, "must not be negative, found -1");
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  expect_error<DataError>([&] { Shape(nine, 9); }, "at most 8 dimensions, found 9");
}

TEST(Text, OfAListIsTakenApartAndWrittenInWords) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split("", ","), Words{""});
  EXPECT_EQ(split(",a,,b,", ","), (Words{"", "a", "", "b", ""}));
  EXPECT_EQ(split("a | b|c | ", " | "), (Words{"a", "b|c", ""}));
  EXPECT_EQ(listed({}, "or"), "");
  EXPECT_EQ(listed({"a"}, "or"), "a");
  EXPECT_EQ(listed({"a", "b"}, "and"), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

TEST(Text, OfANumberHasNothingElse) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number("3", 3, 3), 3);
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1.", "2", "4", "99999999999"})
    EXPECT_EQ(parse_number(text, 3, 3), std::nullopt) << text;
  EXPECT_EQ(parse_number<size_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<double>("0.25"), 0.25);
  EXPECT_EQ(parse_number<double>("nan"), std::nullopt);
}

/// A locale that writes "1.234,5".
class DecimalComma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Text, IsJoinedFromPartsInTheClassicLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  const std::string text =
      concat("a", std::string("b"), std::string_view("c"), 'd', uint8_t{'e'}, " ", -1234, " ",
             size_t{1} << 63, " ", int64_t{-5}, " ", true, " ", 0.1f, " ", 1234.5, " ", 1e-9);
  std::locale::global(before);
  EXPECT_EQ(text, "abcde -1234 9223372036854775808 -5 1 0.1 1234.5 1e-09");
  EXPECT_EQ(concat(), "");
}

TEST(Device, ReadsItsNames) {
  EXPECT_EQ(choose_device("cpu").device, Device::cpu());
  for (const char* bad : {"cuda:-1", "cuda:x", "cuda:", "gpu", "", "cuda:1 ", "CPU"}) {
    expect_error<UsageError>([&] { choose_device(bad); }, "device must be auto, cpu, cuda or cuda:N");
  }
  expect_error<UnavailableError>([] { choose_device("cuda:99"); }, "device cuda:99 ");
}

TEST(Device, AutoStatesWhatItTook) {
  const DeviceChoice choice = choose_device("auto");
  EXPECT_FALSE(choice.reason.empty());
  EXPECT_EQ(choice.device.is_cuda(), cuda_status().usable);
  EXPECT_GT(free_memory_bytes(Device::cpu()), 0u);
}

TEST(MathMode, RoundTrips) {
  for (const char* name : {"fp32", "tf32", "fp16", "int8"})
    EXPECT_STREQ(to_string(parse_math_mode(name)), name);
  expect_error<UsageError>([] { parse_math_mode("fp8"); }, "found 'fp8'");
}

TEST(BackendSpec, AppliesByLayerThenRestThenAll) {
  const Graph graph = toys::diamond();
  const BackendSpec spec = BackendSpec::parse("staged,b=plain");
  const auto names_of = [&graph](const BackendSpec& of) {
    std::vector<std::string> names;  // of x, a, relu, b, out
    for (const BackendEntry* entry : of.resolve(graph, DeviceKind::kCpu))
      names.push_back(entry ? entry->name() : "auto");
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(spec), (Names{"auto", "staged", "auto", "plain", "auto"}));
  EXPECT_EQ(names_of(BackendSpec::parse("*=auto,a=plain")), (Names{"auto", "plain", "auto", "auto", "auto"}));
}

TEST(BackendSpec, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names = {"plain", "staged", "im2col_gemm"};
  EXPECT_EQ(nearest_match("stagged", names), "staged");
  EXPECT_EQ(nearest_match("im2co_gem", names), "im2col_gemm");
  EXPECT_EQ(nearest_match("winograd", names), "");
  EXPECT_EQ(nearest_match("--batch", {"--math", "--batch-sizes", "--batch-size", "--batches-of"}),
            "--batch-size");
  for (const char* text : {"", "a", "<-", "->"})
    EXPECT_EQ(nearest_match(text, {"a1", "L1", "us", "ab"}), "") << text;
}

TEST(BackendSpec, RefusesUnknownNamesWithAHint) {
  const Graph graph = toys::diamond();
  const auto check = [&](const char* text) { BackendSpec::parse(text).resolve(graph, DeviceKind::kCpu); };
  expect_error<UsageError>([&] { check("bb=plain"); }, "no layer 'bb' in diamond");
  expect_error<UsageError>([&] { check("a=plane"); }, "did you mean 'plain'?");
  expect_error<UsageError>([&] { check("stagged"); }, "did you mean 'staged'?");
  expect_error<UsageError>([] { BackendSpec::parse("a=,b"); }, "the name is missing in 'a=,b'");
  expect_error<UsageError>([] { BackendSpec::parse(""); }, "empty entry");
  expect_error<UsageError>([] { BackendSpec::parse("a=b=c"); }, "found 'a=b=c'");
  expect_error<UsageError>([] { BackendSpec::parse("a=plain,b=plain,a=staged"); },
                           "a second NAME for layer a");
  for (const char* text : {"plain,staged", "*=plain,*=staged", "plain,*=staged"}) {
    expect_error<UsageError>([&] { BackendSpec::parse(text); }, "a second NAME for the other layers");
  }
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  const int before = num_threads();
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (int64_t count : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      parallel_for(count, 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
    }
  }
  set_num_threads(before);
}

TEST(ParallelFor, PassesTheFirstExceptionOnAndServesAgain) {
  const int before = num_threads();
  set_num_threads(4);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(parallel_for(100, 1, [](int64_t, int64_t) { throw DataError("inside"); }), DataError);
    std::atomic<int64_t> sum{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      parallel_for(end - begin, 1, [&](int64_t b, int64_t e) { sum += e - b; });  // nested: in this thread
    });
    EXPECT_EQ(sum.load(), 100);
  }
  set_num_threads(before);
  EXPECT_THROW(set_num_threads(0), UsageError);
}

// The caller computes all of it, although another caller's loop has the pool and does not end.
TEST(ParallelFor, SerialLoopsWaitForNoOther) {
  const int before = num_threads();
  set_num_threads(2);
  std::atomic<bool> taken{false}, go_on{false};
  std::thread other([&] {
    parallel_for(2, 1, [&](int64_t, int64_t) {
      taken = true;
      while (!go_on) std::this_thread::yield();
    });
  });
  while (!taken) std::this_thread::yield();
  int ranges = 0;
  {
    const SerialLoops outer;
    { const SerialLoops inner; }
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      ++ranges;
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 100);
    });
  }
  go_on = true;
  other.join();
  EXPECT_EQ(ranges, 1);
  std::atomic<int> afterwards{0};
  parallel_for(2, 1, [&](int64_t, int64_t) { ++afterwards; });
  EXPECT_EQ(afterwards.load(), 2);
  set_num_threads(before);
}

// Longer than a thread polls before it sleeps: within a loop, and between loops.
TEST(ParallelFor, WaitsForTheSlowestThread) {
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  const int before = num_threads();
  set_num_threads(2);
  for (int round = 0; round < 12; ++round) {
    std::atomic<int> done{0};
    parallel_for(2, 1, [&](int64_t begin, int64_t end) {
      if (begin == round % 2) nap();
      done += static_cast<int>(end - begin);
    });
    EXPECT_EQ(done.load(), 2) << "round " << round;
    if (round % 3 == 0) nap();
  }
  set_num_threads(before);
}

// Whether the other threads sleep (after a nap), have just been woken or poll.
TEST(ParallelFor, LightLoopsCoverEveryIndexOnce) {
  const int before = num_threads();
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (int round = 0; round < 60; ++round) {
      if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::atomic<int> seen[7] = {};
      parallel_for_light(7, 2, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[i];
      });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1) << threads << " threads, round " << round;
    }
  }
  set_num_threads(before);
}

// Every core has an L1 of its own, two cores share an L3, and there is no L2.
TEST(CpuCaches, AreThoseOfTheCoresThatMayBeUsed) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / concat("lenslet_caches_", ::getpid());
  const auto describe = [&](int core, int index, const char* level, const char* type, const char* size,
                            const std::string& shared_by) {
    const std::filesystem::path cache = folder / concat("cpu", core) / "cache" / concat("index", index);
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "type") << type << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_list") << shared_by << '\n';
  };
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cores = 0;
  describe(CPU_SETSIZE - 1, 0, "1", "Data", "48K", "not a core of this process");
  for (int core = 0; core < CPU_SETSIZE - 1; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    describe(core, 0, "1", "Data", "48K", std::to_string(core));
    describe(core, 1, "1", "Instruction", "64K", std::to_string(core));
    describe(core, 2, "3", "Unified", "2048K", std::to_string(cores++ / 2));
  }
  const auto found = [&](int level) {
    const CpuCaches caches = cpu_caches(level, folder);
    return std::pair(caches.bytes, caches.count);
  };
  EXPECT_EQ(found(1), std::pair(size_t{48} << 10, cores));
  EXPECT_EQ(found(2), std::pair(size_t{0}, 0));
  EXPECT_EQ(found(3), std::pair(size_t{2} << 20, (cores + 1) / 2));
  std::filesystem::remove_all(folder);
}

TEST(Statistics, InterpolatesPercentiles) {
  std::vector<double> samples(101);
  std::iota(samples.rbegin(), samples.rend(), 0.0);
  const TimeStats stats = summarise(samples);
  EXPECT_EQ(stats.samples, 101u);
  EXPECT_DOUBLE_EQ(stats.min, 0);
  EXPECT_DOUBLE_EQ(stats.p10, 10);
  EXPECT_DOUBLE_EQ(stats.median, 50);
  EXPECT_DOUBLE_EQ(stats.p90, 90);
  EXPECT_DOUBLE_EQ(stats.max, 100);
  EXPECT_DOUBLE_EQ(summarise({1, 2}).median, 1.5);
  EXPECT_EQ(summarise({}).samples, 0u);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 0.99), 9.9);
}

TEST(Module, NamesWhatIsMissingAndWhereItLooked) {
  setenv("LENSLET_MODULE_PATH", "/nonexistent", 1);
  expect_error<UnavailableError>([] { Module::open("no_such_module"); },
                                 "lenslet_no_such_module.so was not found in /nonexistent");
  // An empty variable counts as unset: the build's folders are searched, not the root.
  setenv("LENSLET_MODULE_PATH", "", 1);
  expect_error<UnavailableError>([] { Module::open("no_module_either"); }, code_folder() + "/lenslet, ");
  unsetenv("LENSLET_MODULE_PATH");
}

TEST(Tensor, HoldsTheValuesOfItsShape) {
  const Tensor tensor({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<float>(tensor.data(), tensor.data() + 4), (std::vector<float>{1, 2, 3, 4}));
  expect_error<DataError>([] { Tensor({2, 2}, {1, 2, 3}); }, "4 values, found 3");
}

TEST(Tensor, CopiesAndRefusesMismatchedSizes) {
  Stream stream(Device::cpu());
  Tensor from({2, 3}), to({6}), wrong({5});
  for (int i = 0; i < 6; ++i) from.data()[i] = static_cast<float>(i);
  copy(from.view(), to.view(), stream);
  EXPECT_EQ(to.data()[5], 5.0f);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(from.data()) % Buffer::kAlignment, 0u);
  expect_error<DataError>([&] { copy(from.view(), wrong.view(), stream); }, "cannot copy 2x3 into 5");
  expect_error<MemoryError>([] { Buffer(Device::cpu(), size_t{1} << 62); }, "out of host memory");
}

}  // namespace
}  // namespace lenslet
