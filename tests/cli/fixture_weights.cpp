// Files of weights: LeNet-5's tensors with one change each, damaged headers, and other formats.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/cli/fixture_parts.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name, shape, dtype;
  Bytes data;
};

Bytes file_of(const std::vector<Entry>& entries, const std::string& metadata = "") {
  std::string header = "{" + metadata;
  Bytes data;
  for (const Entry& entry : entries) {
    header +=
        (header.size() > 1 ? "," : "") +
        tensor_entry(entry.name, entry.dtype, entry.shape,
                     std::to_string(data.size()) + "," + std::to_string(data.size() + entry.data.size()));
    data = std::move(data) + entry.data;
  }
  return safetensors(header + "}", 0) + data;
}

std::vector<Entry> lenet_entries() {
  const std::vector<std::pair<std::string, std::vector<int>>> shapes = {
      {"conv1.weight", {6, 1, 5, 5}},  {"conv1.bias", {6}},
      {"conv2.weight", {16, 6, 5, 5}}, {"conv2.bias", {16}},
      {"fc1.weight", {120, 256}},      {"fc1.bias", {120}},
      {"fc2.weight", {84, 120}},       {"fc2.bias", {84}},
      {"fc3.weight", {10, 84}},        {"fc3.bias", {10}}};
  std::vector<Entry> entries;
  for (const auto& [name, dims] : shapes) {
    Entry entry{name, "", "F32", {}};
    size_t count = 1;
    for (const int dim : dims) {
      entry.shape += (entry.shape.empty() ? "" : ",") + std::to_string(dim);
      count *= static_cast<size_t>(dim);
    }
    entry.data.assign(count * sizeof(float), 0);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void set_value(Entry& entry, size_t index, float value) {
  std::memcpy(entry.data.data() + index * sizeof value, &value, sizeof value);
}

Bytes with_length(uint64_t length, const std::string& rest) {
  Bytes out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(length >> (8 * i)));
  return out + bytes_of(rest);
}

// Tensors that do not fit LeNet-5.
void write_other_tensors(const fs::path& folder) {
  const auto changed = [&](const char* name, auto&& change) {
    std::vector<Entry> entries = lenet_entries();
    change(entries);
    write_fixture(folder / (std::string(name) + ".safetensors"), file_of(entries));
  };
  changed("good", [](auto&) {});
  changed("missing", [](auto& entries) { entries.pop_back(); });
  changed("extra", [](auto& entries) { entries.push_back({"fc4.bias", "1", "F32", Bytes(4)}); });
  changed("renamed", [](auto& entries) { entries[9].name = "fc4.bias"; });
  changed("transposed", [](auto& entries) { entries[4].shape = "256,120"; });
  changed("two_shapes", [](auto& entries) {
    entries[5].shape = "60,2";
    entries[6].shape = "120,84";
  });
  changed("rank", [](auto& entries) { entries[2].shape = "16,150"; });
  changed("nan", [](auto& entries) { set_value(entries[0], 0, std::nanf("")); });
  changed("inf", [](auto& entries) {
    set_value(entries[4], 1, INFINITY);
    set_value(entries[4], 2, -INFINITY);
  });
  for (const char* dtype : {"F64", "I64"}) {
    changed(dtype, [&](auto& entries) { entries[1] = {"conv1.bias", "3", dtype, Bytes(24)}; });
  }
  const auto said = [&](const char* name, const std::string& metadata) {
    write_fixture(folder / (std::string(name) + ".safetensors"),
                  file_of(lenet_entries(), "\"__metadata__\":{" + metadata + "}"));
  };
  said("other_model", "\"model\":\"resnet\"");
  said("std_zero", "\"mean\":\"0\",\"std\":\"0\"");
  said("mean_alone", "\"mean\":\"0.5\"");
  said("temperature", "\"temperature\":\"1.5\"");
  said("threshold_word", "\"energy_threshold\":\"low\"");
  changed("many", [](auto& entries) {  // whose names are half a megabyte
    for (int i = 0; i < 3000; ++i)
      entries.push_back({"t" + std::to_string(i) + std::string(150, 'x'), "0", "F32", {}});
  });
  changed("largest", [](auto& entries) {  // finite, but the sum of two overflows
    for (Entry& entry : entries) {
      for (size_t i = 0; i < entry.data.size() / sizeof(float); ++i) set_value(entry, i, 3e38f);
    }
  });
}

// Invalid headers.
void write_other_headers(const fs::path& folder) {
  const auto header = [&](const char* name, const std::string& text, size_t data) {
    write_fixture(folder / (std::string(name) + ".safetensors"), safetensors(text, data));
  };
  const auto raw = [&](const char* name, const Bytes& bytes) {
    write_fixture(folder / (std::string(name) + ".safetensors"), bytes);
  };
  raw("header_max", with_length(~uint64_t{0}, "{}"));
  raw("header_10g", with_length(10'000'000'000u, "{}"));
  raw("header_past_end", with_length(5000, "{}"));
  const Bytes whole = file_of(lenet_entries());
  raw("cut", Bytes(whole.begin(), whole.end() - 10));
  header("deep", std::string(500000, '['), 0);
}

// Other kinds of file that users may pass.
void write_other_formats(const fs::path& folder) {
  write_fixture(folder / "model.pt", bytes_of("PK\x03\x04") + Bytes(100, 'x'));
  write_fixture(folder / "legacy.pt", Bytes{0x80, 0x02, 0x8a, 0x0a} + Bytes(100, 'l'));
  write_fixture(folder / "model.onnx", bytes_of("\x08\x08\x12\x07pytorch\x1a\x05"
                                                "2.1.0") +
                                           Bytes(100, ':'));
  write_fixture(folder / "page.html", bytes_of("<!DOCTYPE html><html><body>404</body></html>"));
  write_fixture(folder / "pointer",
                bytes_of("version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 178000\n"));
  write_fixture(folder / "empty.safetensors", {});
  write_fixture(folder / "huge.safetensors", {});  // takes no space on the disk
  fs::resize_file(folder / "huge.safetensors", uint64_t{16} << 30);
}

}  // namespace

void write_weights(const fs::path& dir) {
  write_other_tensors(dir / "w");
  write_other_headers(dir / "w");
  write_other_formats(dir / "w");
  fs::create_symlink("loop", dir / "w/loop");
  write_fixture(dir / "plans/text.json", bytes_of("this is no plan"));
  write_fixture(dir / "plans/other.json", bytes_of("{\"schema\":\"something/1\"}"));
  write_fixture(dir / "plans/deep.json", Bytes(100000, '['));
  write_fixture(dir / "plans/empty.json", {});
  write_fixture(dir / "plans/large.json", Bytes(5u << 20, ' '));
}

}  // namespace lenslet::test
