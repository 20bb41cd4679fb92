#include "framework/graph/module.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/base/choice_trace.h"
#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

namespace {

constexpr const char* kLibraryInfo = "lenslet_library_info";

// The file that contains this function. For a shared library it comes from the loader; for the program from the
// operating system, because the loader has only argv[0], which the caller chooses.
std::string own_file() {
  Dl_info info{};
  void* found = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&own_file), &info, &found, RTLD_DL_LINKMAP) == 0) return {};
  auto* const map = static_cast<link_map*>(found);
  if (map->l_name == nullptr || map->l_name[0] == '\0') return "/proc/self/exe";
  std::string name = map->l_name;
  char origin[4096];  // the folder of a library that was opened by a relative name, at that time
  if (name[0] == '/' || dlinfo(map, RTLD_DI_ORIGIN, origin) != 0) return name;
  return origin + name.substr(name.rfind('/'));
}

std::vector<std::string> folders() {
  if (const char* chosen = std::getenv("LENSLET_MODULE_PATH"); chosen && *chosen) return {chosen};
  const std::string here = code_folder();
  if (here.empty()) return {};
  // Beside it (a program with its modules in one folder), below it (the shared library, installed), from the folder of
  // installed programs, and in the build's own folders.
  return {here, here + "/lenslet", here + "/" LENSLET_MODULES_FROM_PROGRAMS, here + "/../lib"};
}

// The line of the trace: the module and its libraries.
std::string describe(const Module& module, void* handle) {
  std::string text = module.path();
  if (!dlsym(handle, kLibraryInfo)) return text;
  for (const ModuleLibrary& library : module.libraries())
    text += concat("; ", library.name, " ", library.version, ", ", library.path);
  return text;
}

}  // namespace

std::string code_folder() {
  const std::string path = real_path(own_file());
  return path.substr(0, path.rfind('/'));
}

// Every requested module, by name.
struct Module::Registry {
  struct Slot {
    std::unique_ptr<Module> module;
    std::string failure;
  };
  std::mutex mutex;
  std::map<std::string, Slot> slots;
  static Registry& get() {
    static Registry registry;
    return registry;
  }
};

const Module& Module::open(const std::string& name) {
  Registry& registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  Registry::Slot& slot = registry.slots[name];
  if (!slot.module && slot.failure.empty()) {
    const std::string file = "lenslet_" + name + ".so";
    std::string looked;
    const std::vector<std::string> places = folders();
    for (const std::string& folder : places) {
      const std::string path = folder + "/" + file;
      looked += (looked.empty() ? "" : ", ") + folder;
      if (access(path.c_str(), F_OK) != 0) continue;
      void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle) {
        slot.failure = concat("module ", path, " could not be opened: ", dlerror());
        break;
      }
      const auto abi = reinterpret_cast<int (*)()>(dlsym(handle, "lenslet_module_abi"));
      const int found = abi ? abi() : 0;
      if (found != kModuleAbiVersion) {
        slot.failure = concat("module ", path, " has ABI version ", found, ", expected ", kModuleAbiVersion,
                              "; use the modules of this build");
        break;
      }
      if (void* use_threads = dlsym(handle, "lenslet_module_use_threads")) {
        const ParallelHost host{&num_threads, &parallel_for};
        reinterpret_cast<void (*)(const ParallelHost*)>(use_threads)(&host);
      }
      slot.module.reset(new Module(path, handle));
      if (traces_choices()) print_choice("library", describe(*slot.module, handle));
      break;
    }
    if (!slot.module && slot.failure.empty()) {
      slot.failure = concat("module ", file, " was not found",
                            places.empty() ? ": the program's own folder is unknown (was its file replaced?)"
                                           : concat(" in ", looked),
                            "; set LENSLET_MODULE_PATH to its folder");
    }
  }
  if (slot.module) return *slot.module;
  trace_choice("library", name, " is unavailable: ", slot.failure);
  throw UnavailableError(slot.failure);
}

std::vector<const Module*> Module::opened() {
  Registry& registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<const Module*> modules;
  for (const auto& [name, slot] : registry.slots) {
    if (slot.module) modules.push_back(slot.module.get());
  }
  return modules;
}

void* Module::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (!address)
    throw UnavailableError(
        concat("module ", path_, " does not export ", name, "; reinstall it with the program"));
  return address;
}

std::vector<ModuleLibrary> Module::libraries() const {
  const auto info = reinterpret_cast<int (*)(ModuleLibrary*, int)>(symbol(kLibraryInfo));
  std::vector<ModuleLibrary> rows(static_cast<size_t>(info(nullptr, 0)));
  info(rows.data(), static_cast<int>(rows.size()));
  return rows;
}

}  // namespace lenslet
