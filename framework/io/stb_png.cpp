#include "framework/io/stb_png.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

// stb_image grows its buffers with the data, regardless of the header: a 1 MB file of a 1x1 picture can take 1 GB. So
// each block is preceded by its size, and the sum of the sizes has a limit, which is set for each picture.
constexpr size_t kPrefix = alignof(std::max_align_t);
thread_local size_t budget_left = 0;

void* budgeted_malloc(size_t size) {
  if (size > budget_left) return nullptr;
  auto* block = static_cast<unsigned char*>(std::malloc(size + kPrefix));
  if (!block) return nullptr;
  budget_left -= size;
  std::memcpy(block, &size, sizeof size);
  return block + kPrefix;
}

void budgeted_free(void* pointer) {
  if (!pointer) return;
  unsigned char* block = static_cast<unsigned char*>(pointer) - kPrefix;
  size_t size;
  std::memcpy(&size, block, sizeof size);
  budget_left += size;
  std::free(block);
}

void* budgeted_realloc(void* pointer, size_t old_size, size_t new_size) {
  void* fresh = budgeted_malloc(new_size);
  if (!fresh) return nullptr;  // the old block stays valid, as with realloc
  if (pointer) {
    std::memcpy(fresh, pointer, std::min(old_size, new_size));
    budgeted_free(pointer);
  }
  return fresh;
}

}  // namespace

#define STBI_MALLOC(size) budgeted_malloc(size)
#define STBI_FREE(pointer) budgeted_free(pointer)
#define STBI_REALLOC_SIZED(pointer, old_size, new_size) budgeted_realloc(pointer, old_size, new_size)
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS (1 << 26)
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#if __has_include(<stb/stb_image.h>)
#include <stb/stb_image.h>
#else
#include <stb_image.h>
#endif
#pragma GCC diagnostic pop

namespace lenslet {

std::string stb_decode_png(const std::vector<uint8_t>& bytes, size_t budget, int& channels,
                           std::vector<uint8_t>& pixels) {
  budget_left = budget;
  int width = 0, height = 0;
  const std::unique_ptr<stbi_uc, decltype(&budgeted_free)> decoded(
      stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width, &height, &channels, 0),
      &budgeted_free);
  if (!decoded) {
    const char* reason = stbi_failure_reason();
    return reason ? reason : "unknown reason";
  }
  const size_t size =
      static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  pixels.assign(decoded.get(), decoded.get() + size);
  return "";
}

}  // namespace lenslet
