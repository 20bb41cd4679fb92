// The texts that name one device or several, and the processors near a GPU.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/own_threads.h"
#include "framework/base/parallel.h"
#include "framework/device/device_list.h"
#include "framework/device/near_processors.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

/// A machine with these GPUs, by whether this build has code for them.
CudaStatus machine(const std::vector<bool>& has_code) {
  CudaStatus status;
  status.built = true;
  status.reason = "no NVIDIA driver is loaded";
  status.architectures = "90-real";
  for (const bool has : has_code) {
    CudaDeviceInfo& gpu = status.devices.emplace_back();
    gpu.name = "NVIDIA T";
    gpu.compute_capability = 90;
    gpu.has_code = has;
    status.usable = status.usable || has;
  }
  return status;
}

std::string chosen(const std::string& text, const CudaStatus& status) {
  return device_list(choose_devices(text, status).devices);
}

TEST(DeviceNames, NameOneOrSeveral) {
  const CudaStatus four = machine({true, true, true, true});
  EXPECT_EQ(chosen("cpu", four), "cpu");
  EXPECT_EQ(chosen("auto", four), "cuda:0");
  EXPECT_EQ(chosen("cuda", four), "cuda:0");
  EXPECT_EQ(chosen("cuda:3", four), "cuda:3");
  EXPECT_EQ(chosen("cuda:0,2", four), "cuda:0,2");
  EXPECT_EQ(chosen("cuda:3,1,0", four), "cuda:3,1,0") << "in the order given";
  EXPECT_EQ(chosen("cuda:all", four), "cuda:0,1,2,3");
  EXPECT_EQ(chosen("cuda:all", machine({true})), "cuda:0");
  EXPECT_EQ(chosen("cuda:all", machine({true, false, true})), "cuda:0,2") << "those that it has code for";
  EXPECT_EQ(chosen("auto", machine({})), "cpu");
}

TEST(DeviceNames, OthersAreRefused) {
  const CudaStatus two = machine({true, true});
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:0,", "cuda:,0", "cuda:0,,1",
                           "cuda:0, 1", "cuda:0 ", "cuda:all,0", "cuda:0,all", "cuda:0,cuda:1", "cuda:0;1",
                           "cuda:99999999999", "cuda:0,rank", "CUDA:all", "cpu,cuda:0", "cuda:+1"}) {
    SCOPED_TRACE(text);
    expect_error<UsageError>([&] { choose_devices(text, two); }, "cuda:all or cuda:rank, found '");
  }
  expect_error<UsageError>([&] { choose_devices("cuda:1,0,1", two); }, "names cuda:1 twice");
  expect_error<UsageError>([&] { choose_devices("cuda:7,7", machine({})); }, "names cuda:7 twice");
  expect_error<UnavailableError>([&] { choose_devices("cuda:0,2", two); },
                                 "cuda:2 does not exist: this machine has cuda:0 to cuda:1");
  expect_error<UnavailableError>(
      [&] {
        choose_devices("cuda:0,1", machine({true, false}));
      },
      "cuda:1 (NVIDIA T, compute capability 9.0) is unsupported");
  for (const char* text : {"cuda:all", "cuda:0,1"})
    expect_error<UnavailableError>([&] { choose_devices(text, machine({})); }, "no NVIDIA driver is loaded");
  expect_error<UnavailableError>(
      [&] {
        choose_devices("cuda:all", machine({false, false}));
      },
      "cuda:0 (NVIDIA T");
}

TEST(DeviceNames, OfSeveralAreRefusedWhereOneComputes) {
  const CudaStatus two = machine({true, true});
  const auto only = [](const char* text, const CudaStatus& status) {
    return only_device(text, choose_devices(text, status)).device;
  };
  EXPECT_EQ(only("cuda:1", two), Device::cuda(1));
  EXPECT_EQ(only("cuda:all", machine({true})), Device::cuda(0)) << "as cuda:0";
  for (const char* text : {"cuda:all", "cuda:0,1"})
    expect_error<UsageError>([&] { only(text, two); }, "is several GPUs, cuda:0,1, and this computes on one");
}

TEST(ProcessorLists, AreThoseOfTheKernel) {
  using List = std::vector<int>;
  EXPECT_EQ(parse_processor_list("0"), List{0});
  EXPECT_EQ(parse_processor_list("0-3,8,10-11"), (List{0, 1, 2, 3, 8, 10, 11}));
  for (const char* text : {"", ",", "0,", "-1", "3-1", "0-", "a", "0 1", "0-3 ", "99999999"})
    EXPECT_EQ(parse_processor_list(text), std::nullopt) << text;
}

TEST(ProcessorsNear, AreThoseOfTheNodeThatSysfsStates) {
  using List = std::vector<int>;
  const test::TemporaryFolder sys;
  const auto write = [&](const std::string& folder, const std::string& name, const std::string& text) {
    std::filesystem::create_directories(sys / folder);
    sys.write(folder + "/" + name, {text.begin(), text.end()});
  };
  const auto gpu = [&](const std::string& name, const std::string& node) {
    write("bus/pci/devices/" + name, "numa_node", node);
  };
  gpu("0000:3b:00.0", "1\n");
  gpu("0000:1a:00.0", "0\n");
  gpu("0000:5e:00.0", "-1\n");
  gpu("0000:5f:00.0", "7\n");
  gpu("0000:60:00.0", "one\n");
  write("devices/system/node/node0", "cpulist", "0-1,4\n");
  write("devices/system/node/node1", "cpulist", "2-3\n");
  EXPECT_EQ(processors_near("0000:3B:00.0", sys.path()), (List{2, 3})) << "the runtime writes capitals";
  EXPECT_EQ(processors_near("0000:1a:00.0", sys.path()), (List{0, 1, 4}));
  EXPECT_EQ(processors_near("0000:5e:00.0", sys.path()), List{}) << "the system does not know";
  EXPECT_EQ(processors_near("0000:5f:00.0", sys.path()), List{}) << "no such node";
  EXPECT_EQ(processors_near("0000:60:00.0", sys.path()), List{});
  EXPECT_EQ(processors_near("0000:61:00.0", sys.path()), List{}) << "no such device";
  EXPECT_EQ(processors_near("", sys.path()), List{});
  EXPECT_EQ(processors_near(Device::cpu()), List{});
}

std::set<int> processors_of_this_thread() {
  cpu_set_t set;
  std::set<int> processors;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<unsigned>(i), &set)) processors.insert(i);
  }
  return processors;
}

TEST(OwnThreads, RunOnTheProcessorsThatTheyAreGiven) {
  const std::set<int> allowed = processors_of_this_thread();
  const int last = *allowed.rbegin();
  const auto found = [](const std::vector<int>& given) {
    OwnThreads threads(1, given);
    std::set<int> processors;
    threads.start([&](int) { processors = processors_of_this_thread(); });
    threads.wait();
    return processors;
  };
  EXPECT_EQ(found({last}), std::set<int>{last});
  EXPECT_EQ(found({last, 1023}), std::set<int>{last}) << "where it may run";
  EXPECT_EQ(found({}), allowed);
  EXPECT_EQ(found({-1, 1023, 100000}), allowed) << "none of them is there";
  EXPECT_EQ(processors_of_this_thread(), allowed) << "the caller stays where it was";
}

TEST(OwnThreads, EachRunsTheBodyOnceARound) {
  OwnThreads threads(3);
  EXPECT_EQ(threads.count(), 3);
  std::mutex mutex;
  std::multiset<int> indices;
  for (int round = 0; round < 100; ++round) {
    threads.start([&](int index) {
      const std::lock_guard<std::mutex> lock(mutex);
      indices.insert(index);
    });
    threads.wait();
  }
  for (const int index : {0, 1, 2}) EXPECT_EQ(indices.count(index), 100u);
  EXPECT_EQ(indices.size(), 300u);
}

TEST(OwnThreads, OfTwoOwnersRunAtOnceAndTheirLoopsInOneThread) {
  OwnThreads first(1), second(1);
  std::atomic<int> there{0};
  std::atomic<int> parts{0};
  const auto meet = [&](int) {
    ++there;
    while (there < 2) std::this_thread::yield();
    parallel_for(1000, 1, [&](int64_t, int64_t) { ++parts; });
  };
  first.start(meet);
  second.start(meet);
  first.wait();
  second.wait();
  EXPECT_EQ(parts, 2) << "a loop is one range";
}

TEST(OwnThreads, AForkedProcessCanOnlyDestroyThem) {
  auto threads = std::make_unique<OwnThreads>(2);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      threads->start([](int) {});
    } catch (const DeviceError&) {
      code = 0;
    }
    threads.reset();
    ::_exit(code);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace lenslet
