#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/request.h"
#include "gpu/cublas.h"
#include "gpu/device.h"
#include "space/instance.h"
#include "spec/element_type.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// CUDA source that travels in the executable and is compiled at run time.
struct OwnSource {
  const char* file;  ///< its name, for messages
  const char* text;
  const char* kernel;  ///< one of its kernels
};

/// Poison, guard bands, checksums (device_kernels.cu)
extern const OwnSource kDeviceKernels;
/// Inputs and comparisons of one element type (typed_kernels.cu)
extern const OwnSource kTypedKernels;
/// The ceilings' kernels (calibration_kernels.cu)
extern const OwnSource kCalibrationKernels;
/// The ceiling of the tensor cores with operands of one element type (tensor_kernels.cu)
extern const OwnSource kTensorKernels;

/// `type`: of kTypedKernels and kTensorKernels.
CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor,
                                  std::optional<ElementType> type = {});

/// The source's kernels for this GPU: from the cubin cache, or compiled now. Throws GpuError.
std::string cubin_of(const OwnSource& source, const DeviceFacts& device,
                     std::optional<ElementType> type = {});

struct OwnKernels {
  const OwnSource* source = nullptr;
  std::optional<ElementType> type = {};
};

/// cubin_of() each in a thread of its own, so that all are in the cache afterwards. Throws GpuError.
void compile_together(const std::vector<OwnKernels>& wanted, const DeviceFacts& device);

/// How an output compares with its FP64 reference.
struct ComparisonResult {
  double relative_error = 0;       ///< ||out - ref|| / ||ref|| (Frobenius)
  double largest_error = 0;        ///< max |out - ref|
  std::uint64_t largest_at = 0;    ///< index of its first element, when it is above zero
  double reference_rms = 0;        ///< sqrt(mean(ref^2))
  std::uint64_t not_a_number = 0;  ///< elements that are NaN or infinite
  std::uint64_t first_not_a_number = 0;
  std::uint64_t off = 0;  ///< elements whose error exceeds what is tolerated of one
};

/// Elements in rows whose starts lie `pitch` elements apart.
struct ElementRows {
  std::uint64_t count = 0;  ///< elements of all rows
  std::uint64_t columns = 0;
  std::uint64_t pitch = 0;
};

/// Stretches of `bytes` bytes each, whose starts lie `pitch` bytes apart.
struct Bands {
  DeviceAddress first = 0;
  std::uint64_t count = 0;
  std::uint64_t pitch = 0;
  std::uint64_t bytes = 0;
};

/// How many bytes of guard bands have changed. The layout is that in device_kernels.cu.
struct GuardResult {
  std::uint64_t changed = 0;
  std::uint64_t first = 0;  ///< offset from the start of the first band
};

/// Copies of one buffer.
struct BufferCopies {
  DeviceAddress first = 0;
  std::uint64_t count = 0;
  std::uint64_t pitch = 0;  ///< bytes from one to the next
};

/// Several sets of something in memory that lies apart, one behind the other: what inputs hold, or what must
/// come of it.
struct Sets {
  DeviceBuffer memory;
  std::size_t bytes = 0;                 ///< of each
  std::uint64_t pitch = 0;               ///< from one to the next
  std::vector<std::uint64_t> checksums;  ///< of each

  /// Allocates. Throws CudaError.
  Sets(std::size_t count, std::size_t bytes);
  Sets() = default;
  DeviceAddress at(std::size_t set) const { return memory.address() + set * pitch; }
};

/// Which set each copy of a buffer has. The layout is that in device_common.cuh.
struct SetChoice {
  DeviceAddress set_of = 0;  ///< 32-bit numbers of the sets, by place
  std::uint64_t pitch = 0;   ///< of the sets
  std::uint64_t first = 0;   ///< the first copy's place
  std::uint64_t places = 1;  ///< places are counted round
};

/// What a launch left in an output, as the kernel check_rows adds it up; zero before.
struct LaunchCheck {
  double squared_error = 0;  ///< of the elements that are numbers
  double largest_error = 0;
  std::uint64_t not_a_number = 0;  ///< elements that are NaN or infinite
  std::uint64_t off = 0;           ///< elements whose error exceeds what is tolerated of one
  std::uint64_t untouched = 0;     ///< elements of `off` that still hold what the output was filled with
};

/// The harness' own kernels on one GPU, compiled for it on first use (through the cubin cache).
class DeviceKernels {
 public:
  explicit DeviceKernels(Gpu& gpu);

  /// Fills rows with the values of an input; what lies between them stays.
  void fill_values(ElementType type, DeviceAddress out, const ElementRows& rows,
                   const Workload::Values& values, std::uint64_t seed);
  /// FP64 copy of a buffer.
  void widen(ElementType type, DeviceAddress in, DeviceAddress out, std::uint64_t elements);
  /// The counterpart: rounds to the type.
  void narrow(ElementType type, DeviceAddress in, DeviceAddress out, std::uint64_t elements);
  /// With a reference of FP64 numbers, or of integers of the same type. Indices count from the first element,
  /// with what lies between rows. An element is off when its error exceeds what is `tolerated`.
  ComparisonResult compare(ElementType type, DeviceAddress out, DeviceAddress reference,
                           const ElementRows& rows, const Tolerance& tolerated);
  /// Queues the same for copies of an output, without waiting: of copy i into the LaunchCheck that stands
  /// `check_pitch` x i behind the first.
  void check_rows(ElementType type, const BufferCopies& copies, DeviceAddress first_reference,
                  const SetChoice& choice, const ElementRows& rows, std::uint32_t filled_with,
                  const Tolerance& tolerated, DeviceAddress checks, std::uint64_t check_pitch);
  /// Fills the rows of copies with a word, whatever the type; what lies between rows stays.
  void fill_rows(ElementType type, const BufferCopies& copies, const ElementRows& rows, std::uint32_t word);
  /// Fills the rows of copies with those of sets.
  void restore_rows(ElementType type, const BufferCopies& copies, DeviceAddress first_set,
                    const SetChoice& choice, const ElementRows& rows);
  /// Copies memory whoever allocated it: of variables side by side, the driver copies each alone.
  void copy(DeviceAddress to, DeviceAddress from, std::uint64_t bytes);
  /// Fills the shared memory of all multiprocessors with a word.
  void fill_shared(std::uint32_t word);
  /// Reads memory into the L2 cache; it is a multiple of 16 bytes, the rest is left out.
  void read_memory(DeviceAddress from, std::uint64_t bytes);
  std::uint64_t checksum(DeviceAddress bytes, std::uint64_t count) { return checksum({bytes, 1, 0}, count); }
  /// The sum of those of copies, of `count` bytes each.
  std::uint64_t checksum(const BufferCopies& copies, std::uint64_t count);
  GuardResult check_guard(DeviceAddress bytes, std::uint64_t count, std::uint8_t pattern);
  GuardResult check_bands(const Bands& bands, std::uint8_t pattern);
  void fill_bands(const Bands& bands, std::uint8_t pattern);
  /// The product of FP64 matrices without cuBLAS, and without its epilogue.
  void gemm_f64(const BlasGemm& gemm);
  /// The epilogue of a product of FP64 matrices, whose bias is FP64 too.
  void finish_f64(const BlasGemm& gemm);

  /// Loads a kernel by name now, so that its first launch need not.
  void prepare(const std::string& symbol) { kernel(symbol); }
  /// Loads the kernels for rows of a type now.
  void prepare_rows(ElementType type);
  /// Queues a kernel that waits until the word at `words` is `ticket`, for `deadline_ns` at most: then it
  /// writes the ticket to the word after that.
  void block_stream(DeviceAddress words, std::uint32_t ticket, std::uint64_t deadline_ns);
  /// Queues a reading of every multiprocessor's cycle counter and of the nanosecond timer: 16 bytes each.
  void probe_clock(DeviceAddress out, int multiprocessors);
  /// Queues on another stream a kernel whose blocks run for some microseconds, beside other kernels or, with
  /// `alone`, on multiprocessors of their own.
  void occupy(CUstream_st* stream, unsigned blocks, unsigned threads, bool alone, std::uint64_t seed);
  /// Queues a kernel of one block that does nothing.
  void launch_empty();
  /// The step of the GPU's nanosecond timer. Waits.
  std::uint64_t timer_step_ns();

 private:
  /// Compiled code, and those of its kernels that were used.
  struct Loaded {
    std::string cubin;
    std::map<std::string, Kernel> kernels;

    const Kernel& kernel(const std::string& symbol);
  };

  const Kernel& kernel(const std::string& symbol) { return plain_.kernel(symbol); }
  const Kernel& kernel(const std::string& symbol, ElementType type);
  void launch(const Kernel& kernel, unsigned blocks, unsigned threads, std::span<void* const> arguments,
              unsigned copies = 1);
  template <typename... Arguments>
  void run(const Kernel& kernel, std::uint64_t elements, Arguments... arguments);
  template <typename... Arguments>
  void run_on_copies(const Kernel& kernel, const BufferCopies& copies, std::uint64_t elements,
                     Arguments... arguments);

  Gpu& gpu_;
  Loaded plain_;
  std::map<ElementType, Loaded> typed_;
  /// A kernel that may have all of a multiprocessor's shared memory.
  const Kernel& with_all_shared(const std::string& symbol);
  DeviceBuffer result_;
};

}  // namespace tiletune
