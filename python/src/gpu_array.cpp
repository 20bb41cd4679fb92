#include "python/src/gpu_array.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "framework/base/error.h"
#include "framework/device/device_list.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"
#include "python/src/dlpack_exchange.h"
#include "python/src/own_gpu_array.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

using Dims = std::vector<int64_t>;

bool is_in_order(const Dims& dims, const int64_t* strides) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

Dims dims_of(nb::handle tuple) {
  Dims dims(nb::len(tuple));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = nb::cast<int64_t>(tuple[i]);
  return dims;
}

bool is_on_gpu(int32_t device_type) {
  return device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value;
}

// What a call needs of PyTorch, looked up once: each look-up costs as much as a launch.
struct Torch {
  nb::object uint8, int32, float32, raw_stream, current_stream, tensor;
  const DlpackExchange* exchange = nullptr;  // of `tensor`, from PyTorch 2.10 on
  nb::object is_cuda = nb::str("is_cuda"), get_device = nb::str("get_device"), data_ptr = nb::str("data_ptr"),
             is_contiguous = nb::str("is_contiguous"), new_empty = nb::str("new_empty"),
             shape = nb::str("shape"), dtype = nb::str("dtype"), dtype_names = nb::make_tuple("dtype");

  static const Torch& get() {
    static const Torch* const torch = new Torch;  // never destroyed: the interpreter ends first
    return *torch;
  }

 private:
  Torch() {
    const nb::module_ module = nb::module_::import_("torch");
    uint8 = module.attr("uint8");
    int32 = module.attr("int32");
    float32 = module.attr("float32");
    raw_stream = nb::getattr(module.attr("_C"), "_cuda_getCurrentRawStream", nb::none());
    current_stream = module.attr("cuda").attr("current_stream");
    tensor = module.attr("Tensor");
    exchange = dlpack_exchange(tensor);
  }
};

nb::object attribute(nb::handle object, const nb::object& name) {
  PyObject* const value = PyObject_GetAttr(object.ptr(), name.ptr());
  if (!value) throw nb::python_error();
  return nb::steal(value);
}

nb::object call(nb::handle object, const nb::object& method) {
  PyObject* const result = PyObject_CallMethodNoArgs(object.ptr(), method.ptr());
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// What DLPack's C exchange has about a tensor. Not for subclasses, which may have no memory.
bool describe(const Torch& torch, nb::handle tensor, nb::dlpack::dltensor& view) {
  if (!torch.exchange || !tensor.type().is(torch.tensor)) return false;
  if (torch.exchange->describe(tensor.ptr(), &view) != 0) {
    PyErr_Clear();  // DLPack has no word for it; its attributes may
    return false;
  }
  view.data = static_cast<char*>(view.data) + view.byte_offset;
  return true;
}

void* address_of(const Torch& torch, nb::handle tensor) {
  nb::dlpack::dltensor view{};
  if (describe(torch, tensor, view)) return view.data;
  return reinterpret_cast<void*>(PyLong_AsSize_t(call(tensor, torch.data_ptr).ptr()));
}

// Memory in use by work that is not done: an event after the work, and what holds the memory.
struct Used {
  void* event;
  nb::object array;
  nb::ndarray<nb::ro> memory;
};
std::vector<Used>& used() {
  static auto* const all = new std::vector<Used>;  // never destroyed: the interpreter ends first
  return *all;
}

}  // namespace

GpuArray::Kind GpuArray::kind_of(nb::handle object) {
  static auto& kinds = *new std::unordered_map<PyTypeObject*, Kind>;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  const auto found = kinds.find(type);
  if (found != kinds.end()) return found->second;
  const std::string module =
      nb::str(nb::handle(reinterpret_cast<PyObject*>(type)).attr("__module__")).c_str();
  const std::string library = module.substr(0, module.find('.'));
  const Kind kind =
      library == "torch" && nb::hasattr(object, "is_cuda") ? Kind::kTorch
      : library == "numpy" || library == "builtins"        ? Kind::kHost
      : library == "cupy"                                  ? Kind::kCupy
      : library == "jaxlib" || library == "jax"            ? Kind::kJax
      : nb::hasattr(object, "__dlpack_device__") || nb::hasattr(object, "__cuda_array_interface__")
          ? Kind::kOther
          : Kind::kHost;
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // so that no other type gets its address
  kinds.emplace(type, kind);
  return kind;
}

std::optional<GpuArray> GpuArray::from(nb::handle object, const char* name) {
  const Kind kind = kind_of(object);
  if (kind == Kind::kHost) return std::nullopt;
  std::optional<GpuArray> array = kind == Kind::kTorch  ? from_torch(object)
                                  : kind == Kind::kCupy ? from_interface(object)
                                                        : from_dlpack(object, kind);
  if (array) {
    array->kind_ = kind;
    array->name_ = name;
    array->object_ = nb::borrow(object);
  }
  return array;
}

std::optional<GpuArray> GpuArray::from_torch(nb::handle tensor) {
  const Torch& torch = Torch::get();
  nb::dlpack::dltensor view{};
  if (describe(torch, tensor, view)) return from_view(tensor, view);
  if (attribute(tensor, torch.is_cuda).ptr() != Py_True) return std::nullopt;
  GpuArray array;
  array.data_ = reinterpret_cast<void*>(PyLong_AsSize_t(call(tensor, torch.data_ptr).ptr()));
  const nb::object type = attribute(tensor, torch.dtype);
  array.type_ = type.is(torch.uint8) ? 'u' : type.is(torch.int32) ? 'i' : type.is(torch.float32) ? 'f' : 0;
  if (array.type_ == 0) array.type_name_ = nb::str(type).c_str();
  const nb::object shape = attribute(tensor, torch.shape);
  array.dims_.resize(static_cast<size_t>(PyTuple_GET_SIZE(shape.ptr())));
  for (size_t i = 0; i < array.dims_.size(); ++i)
    array.dims_[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i)));
  array.in_order_ = call(tensor, torch.is_contiguous).ptr() == Py_True;
  const nb::object ordinal = call(tensor, torch.get_device);
  array.ordinal_ = static_cast<int>(PyLong_AsLong(ordinal.ptr()));
  const nb::object stream = torch.raw_stream.is_none() ? torch.current_stream(ordinal).attr("cuda_stream")
                                                       : torch.raw_stream(ordinal);
  array.stream_ = reinterpret_cast<void*>(PyLong_AsSize_t(stream.ptr()));
  if (PyErr_Occurred()) throw nb::python_error();
  return array;
}

// A function call and some loads, where each attribute of a tensor is a Python object.
std::optional<GpuArray> GpuArray::from_view(nb::handle tensor, const nb::dlpack::dltensor& view) {
  const Torch& torch = Torch::get();
  if (!is_on_gpu(view.device.device_type)) return std::nullopt;
  GpuArray array;
  array.data_ = view.data;
  array.type_ = view.dtype == nb::dtype<uint8_t>()   ? 'u'
                : view.dtype == nb::dtype<int32_t>() ? 'i'
                : view.dtype == nb::dtype<float>()   ? 'f'
                                                     : 0;
  if (array.type_ == 0) array.type_name_ = nb::str(attribute(tensor, torch.dtype)).c_str();
  array.dims_.assign(view.shape, view.shape + view.ndim);
  array.in_order_ = is_in_order(array.dims_, view.strides);
  array.ordinal_ = view.device.device_id;
  if (torch.exchange->current_stream(nb::device::cuda::value, array.ordinal_, &array.stream_) != 0)
    throw nb::python_error();
  return array;
}

std::optional<GpuArray> GpuArray::from_interface(nb::handle object) {
  const nb::object interface = object.attr("__cuda_array_interface__");
  GpuArray array;
  array.dims_ = dims_of(interface["shape"]);
  const std::string type = nb::cast<nb::str>(interface["typestr"]).c_str();
  array.type_ = type == "|u1" || type == "<u1" ? 'u' : type == "<i4" ? 'i' : type == "<f4" ? 'f' : 0;
  array.type_name_ = type;
  const nb::object data = interface["data"];
  array.data_ = reinterpret_cast<void*>(nb::cast<uintptr_t>(data[0]));
  array.read_only_ = nb::cast<bool>(data[1]);
  const nb::object strides = interface.attr("get")("strides");
  array.in_order_ = true;
  if (!strides.is_none()) {
    Dims elements = dims_of(strides);
    const int64_t bytes = array.type_ == 'u' ? 1 : 4;
    for (int64_t& stride : elements) stride = stride % bytes == 0 ? stride / bytes : -1;
    array.in_order_ = is_in_order(array.dims_, elements.data());
  }
  array.stream_ = stream_from(interface.attr("get")("stream"));
  if (array.data_ && cuda_status().usable) {
    const runtime::MemoryInfo found = runtime::memory_at(array.data_);
    array.ordinal_ = found.kind == runtime::MemoryKind::kDevice ? found.ordinal : -1;
  }
  return array;
}

std::optional<GpuArray> GpuArray::from_dlpack(nb::handle object, Kind kind) {
  if (!nb::hasattr(object, "__dlpack_device__")) return from_interface(object);
  const nb::object device = object.attr("__dlpack_device__")();
  const int place = nb::cast<int>(device[0]);
  if (!is_on_gpu(place)) return std::nullopt;
  GpuArray array;
  const nb::object capsule = object.attr("__dlpack__")(nb::arg("stream") = 1);
  nb::ndarray<nb::ro>& view = array.memory_;
  if (!nb::try_cast(capsule, view, false))
    throw nb::type_error("the array cannot be shared: its __dlpack__() returns no capsule of DLPack");
  array.data_ = const_cast<void*>(static_cast<const void*>(view.data()));
  Dims strides;
  for (size_t i = 0; i < view.ndim(); ++i) {
    array.dims_.push_back(static_cast<int64_t>(view.shape(i)));
    strides.push_back(view.stride(i));
  }
  array.in_order_ = is_in_order(array.dims_, strides.data());
  array.type_ = view.dtype() == nb::dtype<uint8_t>()   ? 'u'
                : view.dtype() == nb::dtype<int32_t>() ? 'i'
                : view.dtype() == nb::dtype<float>()   ? 'f'
                                                       : 0;
  array.type_name_ = "another type";
  array.ordinal_ = view.device_id();
  array.stream_ = runtime::default_stream();
  array.read_only_ = kind == Kind::kJax;
  return array;
}

void GpuArray::check_in_place(const std::vector<Device>& devices) const {
  if (!devices.front().is_cuda())
    throw nb::value_error(concat(name_, ": expected host memory, found that of ",
                                 ordinal_ < 0 ? "a GPU" : concat("cuda:", ordinal_),
                                 "; copy them first, as .cpu() does for a torch.Tensor, or load the model "
                                 "with device=\"cuda\"")
                              .c_str());
  if (ordinal_ >= 0 && std::find(devices.begin(), devices.end(), Device::cuda(ordinal_)) == devices.end())
    throw nb::value_error(concat(name_, ": expected memory of ", device_list(devices),
                                 ", where the model computes, found that of cuda:", ordinal_)
                              .c_str());
  if (!in_order_)
    throw nb::value_error(concat(name_,
                                 ": expected a contiguous array in the memory of a GPU, found gaps or "
                                 "another order; copy it first, as .contiguous() does for a "
                                 "torch.Tensor")
                              .c_str());
}

void GpuArray::check_type(const char* types) const {
  if (type_ && std::strchr(types, type_)) return;
  const auto word = [](char type) { return type == 'u' ? "uint8" : type == 'i' ? "int32" : "float32"; };
  std::string expected;
  for (const char* type = types; *type; ++type)
    expected += concat(*expected.c_str() ? " or " : "", word(*type));
  throw nb::type_error(
      concat(name_, ": expected ", expected, ", found ", type_ ? word(type_) : type_name_).c_str());
}

void GpuArray::check_writable() const {
  if (read_only_)
    throw nb::type_error(concat(name_, ": the array is read-only, as all arrays of JAX are").c_str());
}

GpuArray GpuArray::make(char type, const Dims& dims) const {
  GpuArray made;
  made.kind_ = kind_;
  made.type_ = type;
  made.dims_ = dims;
  made.stream_ = stream_;
  made.ordinal_ = ordinal_;
  if (kind_ == Kind::kTorch) {
    const Torch& torch = Torch::get();
    const nb::tuple shape = tuple_of(dims);
    PyObject* arguments[] = {object_.ptr(), shape.ptr(), (type == 'i' ? torch.int32 : torch.float32).ptr()};
    PyObject* const tensor =
        PyObject_VectorcallMethod(torch.new_empty.ptr(), arguments, 2, torch.dtype_names.ptr());
    if (!tensor) throw nb::python_error();
    made.object_ = nb::steal(tensor);
    made.data_ = address_of(torch, made.object_);
  } else if (kind_ == Kind::kCupy) {
    made.object_ =
        nb::module_::import_("cupy").attr("empty")(tuple_of(dims), type == 'i' ? "int32" : "float32");
    made.data_ = reinterpret_cast<void*>(nb::cast<uintptr_t>(made.object_.attr("data").attr("ptr")));
    made.ordinal_ = nb::cast<int>(made.object_.attr("device").attr("id"));  // CuPy's current device, not ours
  } else {
    const Device device = Device::cuda(ordinal_ < 0 ? 0 : ordinal_);
    made.object_ = nb::cast(new OwnGpuArray(device, type, dims), nb::rv_policy::take_ownership);
    made.data_ = nb::cast<const OwnGpuArray&>(made.object_).data();
  }
  return made;
}

nb::object GpuArray::publish() const {
  if (kind_ != Kind::kJax) return object_;
  if (!nb::isinstance<OwnGpuArray>(object_)) return object_;
  return nb::module_::import_("jax.dlpack").attr("from_dlpack")(object_);
}

// Allocators of PyTorch and CuPy reuse memory in the order of the stream. Others may reuse it at once.
void GpuArray::keep_while_used() const {
  if (kind_ == Kind::kTorch || kind_ == Kind::kCupy || ordinal_ < 0) return;
  const DeviceGuard guard(Device::cuda(ordinal_));
  std::vector<Used>& all = used();
  for (size_t i = 0; i < all.size();) {
    if (!runtime::event_passed(all[i].event)) {
      ++i;
      continue;
    }
    runtime::destroy_event(all[i].event);
    std::swap(all[i], all.back());
    all.pop_back();
  }
  void* const event = runtime::create_event();
  runtime::record_event(event, stream_ ? stream_ : runtime::default_stream());
  all.push_back({event, object_, memory_});
}

}  // namespace lenslet::python
