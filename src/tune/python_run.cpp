#include "tune/python_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/confinement.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/own_view.h"
#include "base/printable.h"
#include "base/text.h"
#include "measure/input_values.h"

extern char** environ;

namespace tiletune {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// A Python that has NumPy.
struct Python {
  std::string executable;
  std::vector<std::string> places;  ///< files and folders that it reads
  std::string why_not = {};         ///< why there is none; empty when there is one
};

/// The script that tells where a Python lies, and runs functions.
fs::path python_runner() { return home_folder() / "python" / "run_reference.py"; }

/// The one that TILETUNE_PYTHON names, else python3. It runs as whoever calls tiletune, from whose folders
/// alone it takes modules: those of the working folder are untrusted (WorkerProcess).
Python look_for_python() {
  constexpr auto kPatience = std::chrono::seconds(30);
  const char* const named = std::getenv("TILETUNE_PYTHON");
  try {
    WorkerProcess process("/usr/bin/env", {named != nullptr && *named != '\0' ? named : "python3",
                                           python_runner().string(), "--facts"});
    process.receive(kPatience);
    const std::string printed = process.take_printed();
    Json facts;
    // The runner prints an object last, behind whatever Python and NumPy say of themselves.
    for (const std::string& line : split(printed, '\n'))
      if (Json json = Json::parse(line, nullptr, false); json.is_object()) facts = std::move(json);
    if (!facts.is_object()) return {"", {}, printed.empty() ? "it did not answer" : printed_text(printed)};
    if (const auto error = facts.value("error", ""); !error.empty()) return {"", {}, printable(error)};
    return {facts.at("executable").get<std::string>(), facts.at("places").get<std::vector<std::string>>()};
  } catch (const UserError& error) {
    return {"", {}, error.message()};
  } catch (const std::exception&) {  // of the channel, or of facts of other types
    return {"", {}, "it is not Python"};
  }
}

constexpr const char* kPythonAnswer = "answer";
constexpr std::size_t kLargestAnswer = std::size_t{64} << 10;
constexpr std::size_t kLongestText = 2000;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// Rows and columns of a matrix, or all elements.
std::vector<std::int64_t> shape_of(const Workload::SizedBuffer& buffer) {
  if (!buffer.rows) return {buffer.values()};
  return {buffer.values() / buffer.rows->columns, buffer.rows->columns};
}

fs::path folder_of_run(const Task& task) {
  return task.scratch->path() / fmt::format("{}.{}", task.gpu_set, task.workload);
}

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

void check_confinement(const PythonReference& reference) {
  const std::string why = why_system_cannot_confine();
  if (why.empty()) return;
  throw UserError(fmt::format("{}() is not run: Python functions are always confined, and that is not "
                              "possible here: {}",
                              reference.function, why),
                  reference.where,
                  "Use Linux 5.13 or newer with Landlock, or name the outputs as .npy files: "
                  "\"reference\": {\"npy\": {\"OUTPUT\": \"FILE.npy\"}}.");
}

/// Each takes memory of the kernel and a number of the system, which no limit of the process bounds for root.
constexpr std::uint64_t kMostThreads = 4096;

bool has_too_many_threads(pid_t process) {
  struct stat tasks {};  // A folder has two links more than folders in it.
  return ::stat(fmt::format("/proc/{}/task", process).c_str(), &tasks) == 0 &&
         tasks.st_nlink > kMostThreads + 2;
}

/// All that is in its memory holds so many bytes at most.
std::uint64_t memory_of(const Workload& workload) {
  constexpr std::uint64_t kMemory = std::uint64_t{8} << 30;
  constexpr std::uint64_t kCopies = 24;
  // Addresses, not memory: libraries reserve them for each of their threads.
  constexpr std::uint64_t kOfAThread = std::uint64_t{256} << 20;
  std::uint64_t bytes = 0;
  for (const auto& buffer : workload.buffers) bytes += static_cast<std::uint64_t>(buffer.bytes());
  return kMemory + kOfAThread * std::thread::hardware_concurrency() + kCopies * bytes;
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

void remove_python_outputs(const Task& task) {
  std::error_code ignored;
  fs::remove_all(folder_of_run(task), ignored);
}

PythonRun::PythonRun(const Task& task, std::uint64_t seed)
    : reference_(*task.spec->operation.python), folder_(folder_of_run(task)) {
  check_confinement(reference_);
  static const Python python = look_for_python();
  if (!python.why_not.empty())
    throw UserError("the reference needs Python with NumPy: " + python.why_not, reference_.where,
                    "Install python3 and NumPy (python3-numpy), or name another Python in TILETUNE_PYTHON.");
  const Workload& workload = task.instantiator.workload();
  remove_python_outputs(task);
  std::error_code ignored;
  fs::create_directory(folder_, ignored);
  check_free_space(task, task.scratch->path());
  work_.readable = python.places;
  work_.readable.insert(work_.readable.end(), {folder_.string(), python_runner().parent_path().string()});
  work_.readable_without_links = {reference_.folder.string(), reference_.source.parent_path().string()};
  Json inputs = Json::object();
  for (std::size_t place = 0; place < workload.buffers.size(); ++place) {
    const auto& buffer = workload.buffers[place];
    if (buffer.role == BufferRole::out) continue;
    std::string path = buffer.file ? buffer.file->path : (folder_ / (buffer.name + ".npy")).string();
    if (buffer.file) {
      open_array(*buffer.file);
      work_.readable_without_links.push_back(path);
    } else {
      work_.inputs.push_back({path, buffer, seed_of_buffer(seed, place)});
    }
    // The type of a file of bits that NumPy has no type for.
    const bool has_bits = buffer.file && numpy_type_of(buffer.type) != buffer.type;
    inputs[buffer.name] = {
        {"path", path}, {"shape", shape_of(buffer)}, {"bits", has_bits ? name(buffer.type) : ""}};
  }
  const std::string answer = (folder_ / kPythonAnswer).string();
  work_.outputs.push_back({answer, 1});
  Json outputs = Json::object();
  for (const auto& [name, file] : python_outputs(task)) {
    const auto& buffer = workload.buffer(name);
    work_.outputs.push_back({file.path, static_cast<std::uint64_t>(buffer.values()) * size_bytes(file.type)});
    outputs[name] = {{"path", file.path},
                     {"type", npy_type(file.type)},
                     {"elements", buffer.values()},
                     {"shape", shape_of(buffer)}};
  }
  const Json what = {{"source", reference_.source.string()},
                     {"function", reference_.function},
                     {"problem", problem_of(task)},
                     {"inputs", inputs},
                     {"outputs", outputs},
                     {"answer", answer}};
  const fs::path file = folder_ / "task.json";
  write_file_atomically(file, what.dump());
  work_.memory_bytes = memory_of(workload);
  work_.command = {python.executable, python_runner().string(), file.string()};
  process_.emplace(executable_path(), std::vector<std::string>{"python-worker"});
  process_->send(to_json(work_));
  // Ten times as long as making the values takes.
  constexpr double kPatience_s = 60;
  constexpr double kOfAByte_s = 1e-7;
  deadline_ = Clock::now() + seconds(kPatience_s + kOfAByte_s * static_cast<double>(bytes_of_files(task)));
}

std::optional<PythonAnswer> PythonRun::poll() {
  std::optional<PythonAnswer> answer = take_messages();
  if (!answer && process_->gone()) answer = end();
  if (!answer && has_too_many_threads(process_->pid()))
    answer = PythonAnswer{fmt::format("it started more than {} threads", kMostThreads)};
  if (!answer && Clock::now() >= deadline_) {
    answer = is_running_
                 ? PythonAnswer{fmt::format("it did not end within {}", human_seconds(reference_.timeout_s)),
                                "Make the function faster, or give the reference a larger \"timeout_s\"."}
                 : PythonAnswer{"its inputs could not be made in time", "Set TMPDIR to a faster disk."};
  }
  if (!answer) return std::nullopt;
  process_->kill();
  std::error_code ignored;
  if (!answer->reason.empty()) {
    fs::remove_all(folder_, ignored);
  } else {
    for (const PythonWork::Input& input : work_.inputs) fs::remove(input.path, ignored);
  }
  return answer;
}

/// Why the run has failed, if its messages say so.
std::optional<PythonAnswer> PythonRun::take_messages() {
  const PythonAnswer forbidden{
      fmt::format("the function wrote to file descriptor {}, which tiletune uses", kWorkerChannelFd)};
  try {
    while (const auto message = process_->receive()) {
      if (is_running_) return forbidden;
      const auto starts = from_json<PythonStarts>(*message);
      if (!starts.failure.empty()) return PythonAnswer{starts.failure, starts.remedy};
      is_running_ = true;
      deadline_ = Clock::now() + seconds(reference_.timeout_s);
    }
  } catch (const ProtocolError&) {
    return forbidden;
  }
  return std::nullopt;
}

void PythonRun::wait() const {
  constexpr int kMoment_ms = 50;
  pollfd descriptor{fd(), POLLIN, 0};
  ::poll(&descriptor, 1, kMoment_ms);
}

/// The answer of a process that has ended.
PythonAnswer PythonRun::end() {
  const std::string how = process_->reap().how;
  Json said;
  try {
    std::string text = read_file(folder_ / kPythonAnswer, kLargestAnswer);
    std::erase(text, '\0');  // The file is full of zeros behind it.
    said = parse_json(text, kPythonAnswer);
  } catch (const UserError&) {
    // None, or one that the function wrote itself.
  }
  const auto is_text = [&](const char* name) { return said.contains(name) && said[name].is_string(); };
  if (!said.is_object() || !is_text("reason") || !is_text("remedy")) {
    const std::string printed = printed_text(process_->take_printed());
    return {printed.empty() ? "Python " + how : printed};
  }
  for (const PythonWork::Output& output : work_.outputs) {
    std::error_code error;
    if (fs::file_size(output.path, error) < output.bytes || error)
      return {"the function cut off the files of its outputs"};
  }
  const auto text = [&](const char* name) {
    return printable(said[name].get<std::string>().substr(0, kLongestText));
  };
  return {text("reason"), text("remedy")};
}

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
                                   "/bin",
                                   "/lib",
                                   "/lib64",
                                   "/dev/urandom",
                                   "/etc/alternatives",
                                   "/etc/ld.so.cache",
                                   "/etc/ld.so.conf",
                                   "/etc/ld.so.conf.d",
                                   "/etc/localtime",
                                   "/sys/devices/system/cpu"};

/// What of the environment Python and the libraries of NumPy look at: the rest may hold secrets. With those
/// of OpenMP that bind threads to processors none could start.
constexpr std::array<std::string_view, 6> kPassedVariables{
    "PATH=", "HOME=", "LANG=", "TMPDIR=", "TZ=", "LD_LIBRARY_PATH="};
constexpr std::array<std::string_view, 5> kPassedPrefixes{"LC_", "PYTHON", "OMP_NUM_", "OPENBLAS_", "MKL_"};

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

using StartKey = std::array<std::uint32_t, 2>;

void confine_python(const PythonWork& work, const StartKey& key) {
  const bool has_own_mounts = separate_mounts();
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
    read.add(path, std::move(place));
  }
  Places written;
  written.add("/dev/null");
  for (const PythonWork::Output& output : work.outputs) written.add(output.path);
  if (has_own_mounts) show_only({&read, &written});
  confine({read.numbers(), written.numbers(), false, key});
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

PythonStarts prepare(const PythonWork& work, const StartKey& key) {
  try {
    for (const PythonWork::Input& input : work.inputs) write_input(input.path, input.buffer, input.seed);
    for (const PythonWork::Output& output : work.outputs) make_zeros(output.path, output.bytes);
    confine_python(work, key);
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
  std::random_device random;
  const StartKey key{random(), random()};
  const PythonStarts starts = prepare(work, key);
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
  ::syscall(SYS_execve, words.front(), words.data(), environment.data(), key[0], key[1]);
  throw std::runtime_error(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
}

}  // namespace tiletune
