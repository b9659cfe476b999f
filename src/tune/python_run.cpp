#include "tune/python_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/confinement.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "measure/input_values.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestAnswer = std::size_t{1} << 20;

/// A Python that has NumPy.
struct Python {
  std::string executable;
  std::vector<std::string> folders;  ///< that it reads
};

fs::path runner() { return home_folder() / "python" / "run_reference.py"; }

[[noreturn]] void refuse_python(const std::string& why, const Where& where) {
  throw UserError("the reference needs Python with NumPy: " + why, where,
                  "Install python3 and NumPy (python3-numpy), or name another Python in TILETUNE_PYTHON.");
}

Python find_python(const Where& where) {
  constexpr auto kPatience = std::chrono::seconds(30);
  const char* const named = std::getenv("TILETUNE_PYTHON");
  WorkerProcess process(
      "/usr/bin/env", {named != nullptr && *named != '\0' ? named : "python3", runner().string(), "--facts"});
  process.receive(kPatience);
  const std::string printed = process.take_printed();
  const Json facts = Json::parse(printed, nullptr, false);
  if (!facts.is_object()) refuse_python(printed.empty() ? "it did not answer" : printed_text(printed), where);
  if (const auto error = facts.value("error", ""); !error.empty()) refuse_python(printable(error), where);
  return {facts.at("executable").get<std::string>(), facts.at("folders").get<std::vector<std::string>>()};
}

/// Once in a process.
const Python& python(const Where& where) {
  static const Python found = find_python(where);
  return found;
}

/// Of what Python gets: NumPy has no type for bf16 and fp8, whose values f32 holds.
ElementType numpy_type_of(ElementType type) {
  using enum ElementType;
  return type == bf16 || type == e4m3 || type == e5m2 ? f32 : type;
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& bytes, double value, ElementType type) {
  switch (type) {
    case ElementType::f16:
      return append(bytes, half_bits(value));
    case ElementType::f64:
      return append(bytes, value);
    case ElementType::i8:
      return append(bytes, static_cast<std::int8_t>(value));
    case ElementType::u8:
      return append(bytes, static_cast<std::uint8_t>(value));
    case ElementType::boolean:
      return append(bytes, static_cast<std::uint8_t>(value != 0));
    case ElementType::i16:
      return append(bytes, static_cast<std::int16_t>(value));
    case ElementType::u16:
      return append(bytes, static_cast<std::uint16_t>(value));
    case ElementType::i32:
      return append(bytes, static_cast<std::int32_t>(value));
    case ElementType::u32:
      return append(bytes, static_cast<std::uint32_t>(value));
    case ElementType::i64:
      return append(bytes, static_cast<std::int64_t>(value));
    case ElementType::u64:
      return append(bytes, static_cast<std::uint64_t>(value));
    default:
      return append(bytes, static_cast<float>(value));
  }
}

/// What an input holds, without padding.
void write_input(const fs::path& path, const Workload::SizedBuffer& buffer, std::uint64_t seed,
                 const Stop& stop) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const Workload::Values values = values_of(buffer);
  const auto count = static_cast<std::uint64_t>(buffer.values());
  const ElementType type = numpy_type_of(buffer.type);
  std::ofstream out(path, std::ios::binary);
  std::string bytes = npy_header(type, buffer.values());
  for (std::uint64_t n = 0; n < count; ++n) {
    append(bytes, rounded(input_value(values, seed, count, n), buffer.type), type);
    if (bytes.size() < kChunk) continue;
    if (stop()) throw Stopped();
    out << bytes;
    bytes.clear();
  }
  out << bytes;
  out.close();
  if (!out)
    throw UserError(fmt::format("{} cannot be written", path.string()),
                    "Make space there, or set TMPDIR to another folder.");
}

/// A file of that many zero bytes.
void make_file(const fs::path& path, std::uint64_t bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.is_open() &&
      ::posix_fallocate(file.number(), 0, static_cast<off_t>(std::max<std::uint64_t>(bytes, 1))) == 0)
    return;
  throw UserError(
      fmt::format("there is no space for {} in {}", human_bytes(bytes), path.parent_path().string()),
      "Make space there, or set TMPDIR to another folder.");
}

/// Rows and columns of a matrix, or all elements.
std::vector<std::int64_t> shape_of(const Workload::SizedBuffer& buffer) {
  if (!buffer.rows) return {buffer.values()};
  return {buffer.values() / buffer.rows->columns, buffer.rows->columns};
}

fs::path folder_of_run(const Task& task) { return task.scratch->path() / fmt::format("{}", task.workload); }

Json problem_of(const Task& task) {
  Json problem = Json::object();
  for (const auto& [name, size] : task.problem.dimensions) problem[name] = size;
  for (const auto& [name, value] : task.spec->operation.scalars) problem[name] = value;
  for (const auto& [name, value] : task.spec->operation.options) problem[name] = value;
  return problem;
}

/// What the files of a run take, inputs as they are and outputs that Python writes.
std::uint64_t bytes_of_files(const Task& task) {
  std::uint64_t bytes = 0;
  for (const auto& buffer : task.instantiator.workload().buffers) {
    const auto values = static_cast<std::uint64_t>(buffer.values());
    if (buffer.role != BufferRole::out && !buffer.file)
      bytes += values * size_bytes(numpy_type_of(buffer.type));
  }
  for (const auto& [name, file] : python_outputs(task))
    bytes += static_cast<std::uint64_t>(task.instantiator.workload().buffer(name).values()) *
             size_bytes(file.type);
  return bytes;
}

void check_free_space(const Task& task, const fs::path& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  const std::uint64_t needed = bytes_of_files(task);
  if (error || needed <= space.available) return;
  throw UserError(
      fmt::format("{}() at {} needs {} for its inputs and outputs, and {} has {} free",
                  task.spec->operation.python->function, task.problem.label(), human_bytes(needed),
                  folder.parent_path().string(), human_bytes(space.available)),
      task.spec->operation.python->where,
      "Choose a smaller problem, make space there, or set TMPDIR to another folder.");
}

/// All that is made for it holds so many bytes.
std::uint64_t bytes_of(const Workload& workload) {
  std::uint64_t bytes = 0;
  for (const auto& buffer : workload.buffers) bytes += static_cast<std::uint64_t>(buffer.bytes());
  return bytes;
}

}  // namespace

std::vector<std::pair<std::string, ArrayFile>> python_outputs(const Task& task) {
  std::vector<std::pair<std::string, ArrayFile>> outputs;
  for (const auto& buffer : task.instantiator.workload().buffers) {
    if (buffer.role == BufferRole::in) continue;
    const ElementType type = is_floating(buffer.type) ? ElementType::f64 : buffer.type;
    outputs.emplace_back(buffer.name,
                         ArrayFile{(folder_of_run(task) / (buffer.name + ".out")).string(), 0, type});
  }
  return outputs;
}

PythonRun::PythonRun(const Task& task, std::uint64_t seed, bool must_be_confined, const Stop& stop)
    : reference_(*task.spec->operation.python) {
  const Python& with = python(reference_.where);
  const Workload& workload = task.instantiator.workload();
  const fs::path folder = folder_of_run(task);
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directory(folder, error);
  check_free_space(task, task.scratch->path());
  Json inputs = Json::object();
  std::vector<std::string> readable = with.folders;
  for (std::size_t place = 0; place < workload.buffers.size(); ++place) {
    const auto& buffer = workload.buffers[place];
    if (buffer.role == BufferRole::out) continue;
    fs::path path = folder / (buffer.name + ".npy");
    if (buffer.file) {
      path = buffer.file->path;
      readable.push_back(path.string());
    } else {
      write_input(path, buffer, seed_of_buffer(seed, place), stop);
    }
    inputs[buffer.name] = {{"path", path.string()}, {"shape", shape_of(buffer)}};
  }
  answer_ = folder / "answer";
  make_file(answer_, 0);
  Json outputs = Json::object();
  std::vector<std::string> writable{answer_.string()};
  for (const auto& [name, file] : python_outputs(task)) {
    const auto& buffer = workload.buffer(name);
    const auto bytes = static_cast<std::uint64_t>(buffer.values()) * size_bytes(file.type);
    make_file(file.path, bytes);
    writable.push_back(file.path);
    outputs[name] = {{"path", file.path},
                     {"type", npy_type(file.type)},
                     {"elements", buffer.values()},
                     {"shape", shape_of(buffer)}};
  }
  readable.insert(readable.end(),
                  {folder.string(), reference_.folder.string(), runner().parent_path().string()});
  constexpr std::uint64_t kMemory = std::uint64_t{8} << 30;
  constexpr std::uint64_t kCopies = 24;
  const Json work = {{"source", reference_.source.string()},
                     {"function", reference_.function},
                     {"problem", problem_of(task)},
                     {"inputs", inputs},
                     {"outputs", outputs},
                     {"answer", answer_.string()},
                     {"python", with.executable},
                     {"runner", runner().string()},
                     {"readable", readable},
                     {"writable", writable},
                     {"memory_bytes", kMemory + kCopies * bytes_of(workload)},
                     {"must_be_confined", must_be_confined}};
  const fs::path file = folder / "task.json";
  write_file_atomically(file, work.dump());
  process_.emplace(executable_path(), std::vector<std::string>{"python-worker", file.string()});
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(reference_.timeout_s));
}

std::optional<PythonAnswer> PythonRun::poll() {
  try {
    process_->receive();
  } catch (const ProtocolError&) {
    return PythonAnswer{"it wrote to where it must not"};
  }
  if (process_->gone()) return answer();
  if (Clock::now() < deadline_) return std::nullopt;
  process_->kill();
  return PythonAnswer{fmt::format("it did not end within {}", human_seconds(reference_.timeout_s)),
                      "Make the function faster, or give the reference a larger \"timeout_s\"."};
}

void PythonRun::wait() const {
  constexpr int kMoment_ms = 50;
  pollfd descriptor{fd(), POLLIN, 0};
  ::poll(&descriptor, 1, kMoment_ms);
}

PythonAnswer PythonRun::answer() {
  const std::string how = process_->reap().how;
  std::string text = read_file(answer_, kLargestAnswer);
  std::erase(text, '\0');
  const Json said = Json::parse(text, nullptr, false);
  if (said.is_object() && said.value("done", false))
    return {printable(said.value("reason", "")), printable(said.value("remedy", ""))};
  const std::string printed = printed_text(process_->take_printed());
  return {printed.empty() ? "Python " + how : printed};
}

int run_python_worker(const fs::path& file) {
  die_with_parent();
  const Json task = read_json(file);
  const auto open = [](const Json& paths) {
    std::vector<Descriptor> places;
    for (const auto& path : paths) {
      Descriptor place(::open(path.get<std::string>().c_str(), O_PATH | O_CLOEXEC));
      if (place.is_open()) places.push_back(std::move(place));
    }
    return places;
  };
  const auto numbers = [](const std::vector<Descriptor>& places) {
    std::vector<int> numbers;
    for (const Descriptor& place : places) numbers.push_back(place.number());
    return numbers;
  };
  const auto most = task.at("memory_bytes").get<rlim_t>();
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
  if (may_be_confined(task.at("must_be_confined").get<bool>())) {
    const std::vector<Descriptor> read = open(task.at("readable"));
    const std::vector<Descriptor> system =
        open({"/usr", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev/urandom"});
    const std::vector<Descriptor> written = open(task.at("writable"));
    std::vector<int> readable = numbers(read);
    for (const Descriptor& place : system) readable.push_back(place.number());
    confine({readable, numbers(written), false, true});
  }
  const auto executable = task.at("python").get<std::string>();
  const auto runner = task.at("runner").get<std::string>();
  ::execl(executable.c_str(), executable.c_str(), runner.c_str(), file.c_str(), nullptr);
  std::perror(executable.c_str());
  return 1;
}

}  // namespace tiletune
