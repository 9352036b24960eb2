// The device "neuron", simulated: PyTorch's PrivateUse1 with the memory and the operators of the CPU behind it. TorchNeuron registers
// itself the same way (AWS Neuron 2.33.0, release-notes/components/torchneuron, 2026-10-19). Speed, memory, numerics, graph breaks and
// what Trainium leaves to the host are not simulated.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/unfold_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <set>

namespace {

using at::IntArrayRef;
using at::ScalarType;
using at::Tensor;
using c10::Device;
using c10::DeviceIndex;
using c10::SymInt;
using c10::SymIntArrayRef;

constexpr auto NEURON = c10::DeviceType::PrivateUse1;

// A host has a logical NeuronCore for each of torchrun's workers, and a worker begins on its own.
int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}
const DeviceIndex COUNT = number("LOCAL_WORLD_SIZE", 1);
thread_local DeviceIndex current = number("LOCAL_RANK", 0);
Device here() { return Device(NEURON, current); }
DeviceIndex exchange(DeviceIndex index) {
  TORCH_CHECK(index < COUNT, "neuron (simulated): got device ", int(index), ", wanted one of ", int(COUNT));
  return index < 0 ? current : std::exchange(current, index);
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = bytes ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    TORCH_CHECK(memory || !bytes, "neuron (simulated): no host memory for ", bytes, " bytes");
    return {memory, memory, &std::free, here()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};
Allocator allocator;
REGISTER_ALLOCATOR(NEURON, &allocator);

// Everything has happened when a call returns: streams and events are the host's order.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return NEURON; }
  Device exchangeDevice(Device device) const override { return Device(NEURON, exchange(device.index())); }
  Device getDevice() const override { return here(); }
  void setDevice(Device device) const override { exchange(device.index()); }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index() < 0 ? current : device.index(); }
  c10::Stream getStream(Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device.has_index() ? device : here()); }
  c10::Stream getNewStream(Device device, int) const override { return getStream(device); }
  c10::Stream getStreamFromGlobalPool(Device device, bool) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  DeviceIndex deviceCount() const noexcept override { return COUNT; }
  void record(void**, const c10::Stream&, const DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
  void synchronizeEvent(void*) const override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  DeviceIndex deviceCount() const override { return COUNT; }
  DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(DeviceIndex index) const override { exchange(index); }
  DeviceIndex exchangeDevice(DeviceIndex index) const override { return exchange(index); }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override { return exchange(index); }
  const at::Generator& getDefaultGenerator(DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
  at::Generator getNewGenerator(DeviceIndex) const override { return at::detail::createCPUGenerator(); }
  Device getDeviceFromPtr(void*) const override { return here(); }
  bool isPinnedPtr(const void*) const override { return true; }  // DistributedDataParallel insists on it
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::kCPU); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto memory = allocator.allocate(bytes);
    if (storage.nbytes() && bytes) std::memcpy(memory.get(), storage.data(), std::min<size_t>(bytes, storage.nbytes()));
    storage.set_data_ptr_noswap(std::move(memory));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};
Hooks hooks;
const bool registered = (at::RegisterPrivateUse1HooksInterface(&hooks), true);

// The same memory as a tensor of the CPU.
Tensor on_cpu(const Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != NEURON) return tensor;
  return at::from_blob(tensor.mutable_data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void*) {}, tensor.options().device(c10::kCPU));
}

// What the Neuron compiler does not take: AWS Neuron, compiler/error-codes, 2026-07-14.
struct Row {
  const char* operators;  // empty: all
  bool (*refused)(ScalarType);
  const char* text;
};
bool complex(ScalarType type) { return c10::isComplexType(type); }
bool fnuz(ScalarType type) { return type == ScalarType::Float8_e4m3fnuz || type == ScalarType::Float8_e5m2fnuz; }
bool wide_integer(ScalarType type) { return type == ScalarType::Int || type == ScalarType::Long; }
const Row ROWS[] = {
    {"", complex, "NCC_EVRF004: complex data types are not supported on the Neuron device"},
    {"", fnuz, "NCC_EVRF005: float8_e4m3fnuz and float8_e5m2fnuz are not supported"},
    {" topk sort ", wide_integer, "NCC_EVRF013: TopK takes no int32 and int64; cast to float32"},
    {" mm bmm addmm baddbmm dot mv matmul linear ", wide_integer, "NCC_EVRF035: matrix multiplication takes no 32-bit and 64-bit integers; cast to a floating-point type"},
};

std::string row(const std::string& name, ScalarType type) {
  for (const auto& each : ROWS) {
    const bool named = !*each.operators || std::string(each.operators).find(" " + name + " ") != std::string::npos;
    if (named && each.refused(type)) return each.text;
  }
  return "";
}

void warn_once(const std::string& text) {
  static std::set<std::string> shown;
  if (shown.insert(text).second) TORCH_WARN("neuron (simulated): ", text);
}

void look_at(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  const std::string arithmetic = " add sub mul mm bmm addmm sum mean ";
  if (tensor.scalar_type() == ScalarType::Double && tensor.dim() > 0 && arithmetic.find(" " + name + " ") != std::string::npos)
    warn_once("float64 is no data type of NeuronCore-v3 (AWS Neuron, about-neuron/arch/neuron-features/data-types); Trainium's numbers will differ");
  const auto text = row(name, tensor.scalar_type());
  if (!text.empty()) warn_once(text + " (AWS Neuron, compiler/error-codes, 2026-07-14); got " + name + " of " + c10::toString(tensor.scalar_type()) + ", which Trainium refuses or leaves to its host");
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto name = op.schema().name().substr(op.schema().name().find("::") + 2);
  for (const auto& value : torch::jit::last(*stack, op.schema().arguments().size())) {
    if (value.isTensor()) look_at(name, value.toTensor());
  }
  at::native::cpu_fallback(op, stack);
}

Tensor empty(IntArrayRef size, std::optional<ScalarType> type, std::optional<c10::Layout>, std::optional<Device> device, std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(here()));
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(type), format);
}
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> type, std::optional<c10::Layout>, std::optional<Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(here()));
  return at::detail::empty_strided_generic(size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(type));
}
Tensor copy_from(const Tensor& from, const Tensor& to, bool) {
  on_cpu(to).copy_(on_cpu(from));
  return to;
}
Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) { return copy_from(from, to.resize_(from.sizes()), false); }
Tensor as_strided(const Tensor& tensor, SymIntArrayRef size, SymIntArrayRef stride, std::optional<SymInt> offset) {
  return at::native::as_strided_tensorimpl(tensor, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt);
}
Tensor view(const Tensor& tensor, SymIntArrayRef size) { return at::native::view(tensor, C10_AS_INTARRAYREF_SLOW(size)); }
Tensor reshape_alias(const Tensor& tensor, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(tensor, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}
const Tensor& resize(const Tensor& tensor, SymIntArrayRef size, std::optional<c10::MemoryFormat> format) {
  return at::native::resize_(tensor, C10_AS_INTARRAYREF_SLOW(size), format);
}
Tensor& set_storage(Tensor& tensor, c10::Storage storage, SymInt offset, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::cpu::set_(tensor, storage, offset.expect_int(), C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}
Tensor& set_whole_storage(Tensor& tensor, c10::Storage storage) {
  const int64_t size = storage.nbytes() / tensor.dtype().itemsize();
  return at::cpu::set_(tensor, std::move(storage), 0, {size}, {1});
}
Tensor unfold(const Tensor& tensor, int64_t dimension, int64_t size, int64_t step) { return at::native::unfold(tensor, dimension, size, step); }
void record_stream(Tensor&, c10::Stream) {}
c10::Scalar local_scalar(const Tensor& tensor) { return on_cpu(tensor).item(); }
// Module.to() then moves a parameter into the same object, so that tied weights stay tied.
bool has_compatible_shallow_copy_type(const Tensor& to, const Tensor& from) { return to.layout() == at::kStrided && from.layout() == at::kStrided; }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("as_strided", &as_strided);
  m.impl("view", &view);
  m.impl("_reshape_alias", &reshape_alias);
  m.impl("resize_", &resize);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_whole_storage);
  m.impl("unfold", &unfold);
  m.impl("record_stream", &record_stream);
  m.impl("_local_scalar_dense", &local_scalar);
  m.impl("_has_compatible_shallow_copy_type", &has_compatible_shallow_copy_type);
  // These have a composite of their own, which rounds otherwise than the CPU's kernel.
  for (auto name : {"native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward", "_fused_rms_norm", "silu_backward", "mish_backward", "addr", "linalg__powsum"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

// Collectives are gloo's, on the memory of the tensors.
void collective(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const bool flat = op.schema().name().find("_base_") != std::string::npos;  // gloo wants them so, others take any shape
  for (auto& value : *stack) {
    if (value.isTensor()) value = flat ? on_cpu(value.toTensor()).view({-1}) : on_cpu(value.toTensor());
    if (value.isTensorList()) {
      std::vector<Tensor> tensors;
      for (const Tensor& each : value.toTensorVector()) tensors.push_back(on_cpu(each));
      value = tensors;
    } else if (value.isList() && value.toListRef().size() && value.toListRef()[0].isTensorList()) {
      std::vector<std::vector<Tensor>> lists;
      for (const auto& list : value.toListRef()) {
        lists.emplace_back();
        for (const Tensor& each : list.toTensorVector()) lists.back().push_back(on_cpu(each));
      }
      value = lists;
    }
  }
  op.callBoxed(stack);
}
// torch has kernels of its own for these, and warns where they are replaced.
struct Silent final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};
Silent silent;
c10::WarningHandler* const usual = c10::WarningUtils::get_warning_handler();
const bool quiet = (c10::WarningUtils::set_warning_handler(&silent), true);
TORCH_LIBRARY_IMPL(c10d, PrivateUse1, m) {
  for (auto name : {"allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_", "allreduce_", "allreduce_coalesced_", "alltoall_", "alltoall_base_", "barrier", "broadcast_", "gather_", "recv_", "recv_any_source_", "reduce_", "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "scatter_", "send"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&collective>());
}
const bool loud = (c10::WarningUtils::set_warning_handler(usual), true);

#define LOW(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOW)
  AT_FORALL_FP32(FP32)
}

TORCH_LIBRARY(neuron_simulated, m) {
  m.def("on_cpu(Tensor tensor) -> Tensor", &on_cpu);
  m.def("row(str name, ScalarType dtype) -> str", &row);
}

}  // namespace
