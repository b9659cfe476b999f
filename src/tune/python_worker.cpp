#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/confinement.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fields_json.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "measure/input_values.h"
#include "spec/npy.h"
#include "tune/python_run.h"

extern char** environ;

namespace tiletune {

namespace {

/// Integers are the low bytes of wider ones.
void append_number(std::string& bytes, double value, ElementType type) {
  const auto append = [&](auto number, std::size_t count) {
    bytes.append(reinterpret_cast<const char*>(&number), count);
  };
  if (type == ElementType::f64) return append(value, sizeof value);
  if (type == ElementType::f16) return append(half_bits(value), size_bytes(type));
  if (is_floating(type)) return append(static_cast<float>(value), sizeof(float));
  if (type == ElementType::boolean) return append(value != 0, sizeof(bool));
  if (type == ElementType::u64) return append(static_cast<std::uint64_t>(value), sizeof(std::uint64_t));
  append(static_cast<std::int64_t>(value), size_bytes(type));
}

/// What the loader, the C library and libraries that count processors read. Of /proc nothing.
constexpr std::array kSystemPlaces{"/usr",
                                   "/lib",
                                   "/lib64",
                                   "/dev/urandom",
                                   "/etc/ld.so.cache",
                                   "/etc/ld.so.conf",
                                   "/etc/ld.so.conf.d",
                                   "/etc/localtime",
                                   "/sys/devices/system/cpu"};

/// What of the environment Python and the libraries of NumPy look at: the rest may hold secrets.
constexpr std::array<std::string_view, 6> kPassedVariables{
    "PATH=", "HOME=", "LANG=", "TMPDIR=", "TZ=", "LD_LIBRARY_PATH="};
constexpr std::array<std::string_view, 5> kPassedPrefixes{"LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_"};

std::vector<char*> passed_environment() {
  std::vector<char*> passed;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const auto begins = [&](std::string_view start) {
      return std::string_view(*variable).starts_with(start);
    };
    if (std::any_of(kPassedVariables.begin(), kPassedVariables.end(), begins) ||
        std::any_of(kPassedPrefixes.begin(), kPassedPrefixes.end(), begins))
      passed.push_back(*variable);
  }
  passed.push_back(nullptr);
  return passed;
}

void confine_python(const PythonWork& work) {
  Places read;
  for (const char* place : kSystemPlaces) read.add(place);
  for (const std::string& place : work.readable) read.add(place);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  for (const std::string& path : work.readable_without_links) {
    Descriptor place(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    if (!place.is_open())
      throw std::runtime_error(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
    read.add(std::move(place));
  }
  Places written;
  written.add("/dev/null");
  for (const PythonWork::Output& output : work.outputs) written.add(output.path);
  confine({read.numbers(), written.numbers(), false, true});
}

void set_limit(__rlimit_resource resource, std::uint64_t most) {
  const rlimit limit{most, most};
  if (::setrlimit(resource, &limit) != 0)
    throw std::runtime_error(fmt::format("setrlimit: {}", std::strerror(errno)));
}

/// Makes the .npy file of an input's values, without padding. Throws UserError when it cannot be written.
void write_input(const std::filesystem::path& path, const Workload::SizedBuffer& buffer, std::uint64_t seed) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const Workload::Values values = values_of(buffer);
  const auto count = static_cast<std::uint64_t>(buffer.values());
  const ElementType type = numpy_type_of(buffer.type);
  std::ofstream out(path, std::ios::binary);
  std::string bytes = npy_header(type, buffer.values());
  for (std::uint64_t n = 0; n < count && out; ++n) {
    append_number(bytes, rounded(input_value(values, seed, count, n), buffer.type), type);
    if (bytes.size() < kChunk) continue;
    out << bytes;
    bytes.clear();
  }
  out << bytes;
  out.close();
  if (!out)
    throw UserError(fmt::format("{} cannot be written", path.string()),
                    "Make space there, or set TMPDIR to another folder.");
}

/// Makes a file of that many zero bytes, at least one. Throws UserError when it cannot be made.
void make_zeros(const std::filesystem::path& path, std::uint64_t bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const int error = file.is_open() ? ::posix_fallocate(file.number(), 0,
                                                       static_cast<off_t>(std::max<std::uint64_t>(bytes, 1)))
                                   : errno;
  if (error == 0) return;
  throw UserError(
      fmt::format("{} of {} cannot be made: {}", path.string(), human_bytes(bytes), std::strerror(error)),
      "Make space there, or set TMPDIR to another folder.");
}

PythonStarts prepare(const PythonWork& work) {
  try {
    for (const PythonWork::Input& input : work.inputs) write_input(input.path, input.buffer, input.seed);
    for (const PythonWork::Output& output : work.outputs) make_zeros(output.path, output.bytes);
    confine_python(work);
    return {};
  } catch (const UserError& error) {
    return {error.message(), error.remedy()};
  } catch (const std::exception& error) {
    return {error.what(), "Run the same command again; no file may be exchanged meanwhile."};
  }
}

}  // namespace

ElementType numpy_type_of(ElementType type) {
  using enum ElementType;
  return type == bf16 || type == tf32 || type == e4m3 || type == e5m2 ? f32 : type;
}

int run_python_worker() {
  die_with_parent();
  WorkerChannel channel;
  const auto message = channel.receive();
  if (!message) return 1;
  auto work = from_json<PythonWork>(*message);
  const PythonStarts starts = prepare(work);
  channel.send(to_json(starts));
  if (!starts.failure.empty()) return 1;
  // Its end of the channel tells the parent when Python is gone.
  ::fcntl(kWorkerChannelFd, F_SETFD, 0);
  std::vector<char*> words;
  for (std::string& word : work.command) words.push_back(word.data());
  words.push_back(nullptr);
  const std::vector<char*> environment = passed_environment();
  constexpr std::uint64_t kSmallestLimit = std::uint64_t{1} << 20;
  std::uint64_t largest = kSmallestLimit;
  for (const PythonWork::Output& output : work.outputs) largest = std::max(largest, output.bytes);
  // Last of all: this process may be too large for its limits.
  set_limit(RLIMIT_FSIZE, largest);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_AS, work.memory_bytes);
  ::execve(words.front(), words.data(), environment.data());
  throw std::runtime_error(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
}

}  // namespace tiletune
