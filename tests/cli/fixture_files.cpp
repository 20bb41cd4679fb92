#include "tests/cli/fixture_files.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/cli/fixture_parts.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "lenslet-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
    write_data_sets(path_);
    write_weights(path_);
    write_models(path_);
    write_pictures(path_);
    write_bench_files(path_);
    for (const char* name : {"out", "away", "full", "read_only", "locked"})
      fs::create_directories(fs::path(path_) / name);
    const fs::path out = fs::path(path_) / "out";  // links to a file that does not exist yet
    fs::create_symlink("../out/made.json", out / "dangling");
    fs::create_symlink(out / "dangling", out / "dangling_too");
    fs::create_symlink(".", out / "here");
    fs::permissions(fs::path(path_) / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  }
  ~Folder() {
    for (const char* disk : {"/full", "/read_only"}) ::umount2((path_ + disk).c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Common beginnings and parts of command lines.
const Names kBeginnings = {
    {"{weights}", "{eval} --weights {dir}/w"},
    {"{model}", "{eval} --model {dir}/m"},
    {"{inspect}", "lenslet inspect {dir}/m"},
    {"{eval}", "{eval_of}/data"},
    {"{eval_of}", "lenslet eval --device cpu --data {dir}"},
    {"{classify}", "lenslet classify --device cpu"},
    {"{problem}", "lenslet backends --device cpu --problem"},
    {"{measure}", "{run} --backend direct {quick}"},
    {"{run}", "{bench} ic1ih8oc1kh1"},
    {"{bench}", "convbench run --device cpu --problem"},
    {"{compare}", "convbench compare {dir}/results"},
    {"{filter}", "convbench filter --device cpu --input {dir}/kinds/rgb.png"},
    {"{quick}", "--min-time-ms 1 --warmup-ms 0 --cache hot"},
    {"{results}", "{dir}/results"},
};

bool put(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file.good();
}

// Private mounts of this process: as root, or as root of a new namespace.
std::string enter_namespace() {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return std::string("no mounts of its own for a process here: ") + std::strerror(errno);
    }
    if (!put("/proc/self/setgroups", "deny") ||
        !put("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") ||
        !put("/proc/self/gid_map", "0 " + std::to_string(group) + " 1")) {
      return "a user's namespace cannot be set up here";
    }
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("mounts cannot be kept to oneself here: ") + std::strerror(errno);
  }
  return {};
}

std::string mount_both() {
  const std::string full = fixture_folder() + "/full", read_only = fixture_folder() + "/read_only";
  std::string reason = enter_namespace();
  if (!reason.empty()) return reason;
  if (::mount("none", full.c_str(), "tmpfs", 0, "size=64k") != 0 ||
      ::mount("none", read_only.c_str(), "tmpfs", 0, "size=64k") != 0) {
    return std::string("no tmpfs can be mounted here: ") + std::strerror(errno);
  }
  for (const std::string& folder : {full, read_only})
    put((folder + "/old.json").c_str(), "{\"old\": true}\n");
  if (::mount("none", read_only.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k") != 0) {
    return std::string("no disk can be made read-only here: ") + std::strerror(errno);
  }
  std::ofstream filler(full + "/filler");
  for (int i = 0; i < 64; ++i) filler << std::string(1024, 'f') << std::flush;
  return {};
}

}  // namespace

void write_fixture(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

Bytes bar_pixels(int count) {
  constexpr int kSide = 28;
  Bytes pixels;
  pixels.reserve(static_cast<size_t>(count) * kSide * kSide);
  for (int image = 0; image < count; ++image) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool ink = y >= 4 && y < 24 && x >= 12 + image % 4 && x < 15 + image % 4;
        pixels.push_back(static_cast<uint8_t>(ink ? 255 - image % 256 : 0));
      }
    }
  }
  return pixels;
}

const std::string& fixture_folder() {
  static const Folder folder;
  return folder.path();
}

const std::string& mount_disks() {
  static const std::string reason = mount_both();
  return reason;
}

const Names& names() {
  static const Names all = {
      {"{dir}", fixture_folder()}, {"{source}", LENSLET_SOURCE_DIR}, {"{space}", " "},
      {"{newline}", "\n"},         {"{bytes}", "\xff\xfe"},          {"{long}", std::string(5000, 'x')}};
  return all;
}

std::string expand(std::string text) { return expand(std::move(text), names()); }

std::string in_full(const std::string& line) { return expand(line, kBeginnings); }

ProgramRun run_line(const std::string& line, ProgramOptions options) {
  if (options.folder.empty()) options.folder = fixture_folder();
  return run_words(in_full(line), names(), std::move(options));
}

ProgramRun lenslet(const std::string& arguments, ProgramOptions options) {
  return run_line("lenslet " + arguments, std::move(options));
}

ProgramRun convbench(const std::string& arguments, ProgramOptions options) {
  return run_line("convbench " + arguments, std::move(options));
}

std::string write_file(const std::string& path, const std::string& bytes) {
  const std::string whole = expand(path);
  write_fixture(whole, bytes_of(bytes));
  return whole;
}

nlohmann::json read_json(const std::string& path) { return read_json_file(expand(path)); }

}  // namespace lenslet::test
