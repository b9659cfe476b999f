#include "base/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/text.h"

extern char** environ;

namespace tiletune {

namespace {

constexpr std::size_t kReadChunk = std::size_t{1} << 16;
/// A worker may go on printing while it is read.
constexpr std::size_t kMostPrinted = std::size_t{1} << 17;

/// What posix_spawn is told, released with its scope: default signal dispositions, an empty mask and an own
/// process group, so that Ctrl-C reaches the parent alone.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void dup2(int from, int to) { posix_spawn_file_actions_adddup2(&actions, from, to); }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// Copies with numbers above all that the child will have, so that none is overwritten before its turn.
std::vector<Descriptor> copies_above(const std::vector<int>& descriptors) {
  const int lowest = kFirstInheritedFd + static_cast<int>(descriptors.size());
  std::vector<Descriptor> copies;
  for (const int descriptor : descriptors) {
    copies.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest));
    if (copies.back().is_open()) continue;
    throw UserError(fmt::format("cannot give a worker its folders: {}", std::strerror(errno)),
                    "Raise the limit of open files (ulimit -n).");
  }
  return copies;
}

/// Variables that say where programs, libraries and modules lie, and what separates their folders.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFolderVariables{
    {{"PATH", ":"},
     {"LD_LIBRARY_PATH", ":;"},
     {"PYTHONHOME", ":"},
     {"PYTHONPATH", ":"},
     {"PYTHONPYCACHEPREFIX", ""},
     {"PYTHONUSERBASE", ""}}};

/// This process's environment, but programs, libraries and modules are looked for in absolute folders alone:
/// a worker's working folder is untrusted.
std::vector<std::string> environment_of_worker() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const auto found = std::find_if(kFolderVariables.begin(), kFolderVariables.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (found == kFolderVariables.end() || name.size() == text.size()) {
      variables.emplace_back(text);
      continue;
    }
    std::string value(text.substr(name.size() + 1));
    for (const char separator : found->second) std::replace(value.begin(), value.end(), separator, '\0');
    std::vector<std::string> folders = split(value, '\0');
    std::erase_if(folders, [](const std::string& folder) { return !folder.starts_with('/'); });
    if (!folders.empty()) variables.push_back(std::string(name) + "=" + join(folders, ":"));
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The wait status of a child that ends in time; it is reaped then.
std::optional<int> ends_within(pid_t pid, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  do {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (Clock::now() < end);
  return std::nullopt;
}

/// Killed children that were not gone in time: one inside a driver call ends when the driver lets it.
std::vector<pid_t>& stragglers() {
  static std::vector<pid_t> pids;
  return pids;
}

/// False when the other end is gone, or has read nothing for as long as `patience` although the channel is
/// full.
bool send_all(int fd, std::string_view bytes, std::chrono::milliseconds patience) {
  pollfd writable{fd, POLLOUT, 0};
  while (!bytes.empty()) {
    const ssize_t n = TEMP_FAILURE_RETRY(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (n >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if ((errno != EAGAIN && errno != EWOULDBLOCK) ||
             TEMP_FAILURE_RETRY(::poll(&writable, 1, static_cast<int>(patience.count()))) <= 0)
      return false;
  }
  return true;
}

/// Feeds the reader with what one read gives. False at end of file or on a broken channel.
bool read_some(int fd, FrameReader& reader, int flags) {
  std::string chunk(kReadChunk, '\0');
  const ssize_t n = TEMP_FAILURE_RETRY(::recv(fd, chunk.data(), chunk.size(), flags));
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
  if (n <= 0) return false;
  reader.feed(std::string_view(chunk).substr(0, static_cast<std::size_t>(n)));
  return true;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                             const std::vector<int>& inherited) {
  const std::vector<Descriptor> copies = copies_above(inherited);
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    throw UserError(fmt::format("cannot open a channel to a worker: {}", std::strerror(errno)),
                    "Raise the limit of open files (ulimit -n).");
  }
  Descriptor own_end(pair[0]);
  const Descriptor other_end(pair[1]);
  // Neither end waits: a worker that prints more than fits goes on without it.
  int printed[2];
  if (::pipe2(printed, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw UserError(fmt::format("cannot open a pipe to a worker: {}", std::strerror(errno)),
                    "Raise the limit of open files (ulimit -n).");
  }
  printed_ = Descriptor(printed[0]);
  const Descriptor printing_end(printed[1]);
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  settings.dup2(printed[1], STDOUT_FILENO);
  settings.dup2(printed[1], STDERR_FILENO);
  // dup2 clears the close-on-exec flag, also when both numbers are equal (POSIX.1-2024; glibc does so
  // since 2.29).
  settings.dup2(pair[1], kWorkerChannelFd);
  for (std::size_t i = 0; i < copies.size(); ++i)
    settings.dup2(copies[i].number(), kFirstInheritedFd + static_cast<int>(i));
  // Descriptors that this process was started with are inherited whatever it opens itself.
  posix_spawn_file_actions_addclosefrom_np(&settings.actions,
                                           kFirstInheritedFd + static_cast<int>(copies.size()));
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of_worker();
  const int error = ::posix_spawn(&pid_, program.c_str(), &settings.actions, &settings.attributes,
                                  pointers_to(words).data(), pointers_to(variables).data());
  if (error != 0) {
    pid_ = -1;
    throw UserError(fmt::format("cannot start a worker process: {}", std::strerror(error)),
                    Where{program.string(), ""},
                    "Check the limits on processes and memory (ulimit -u, ulimit -v).");
  }
  channel_ = std::move(own_end);
}

WorkerProcess::~WorkerProcess() { kill(); }

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(pid_, other.pid_);
  std::swap(reader_, other.reader_);
  std::swap(printed_, other.printed_);
  return *this;
}

bool WorkerProcess::send(const nlohmann::ordered_json& message) {
  constexpr auto kPatience = std::chrono::seconds(10);
  return !gone() && send_all(fd(), encode_frame(message), kPatience);
}

std::optional<nlohmann::ordered_json> WorkerProcess::receive() {
  if (auto message = reader_.next()) return message;
  if (gone()) return std::nullopt;
  if (!read_some(fd(), reader_, MSG_DONTWAIT)) {
    channel_ = Descriptor();
    if (reader_.in_the_middle()) throw ProtocolError("the worker ended in the middle of a frame");
  }
  return reader_.next();
}

std::optional<nlohmann::ordered_json> WorkerProcess::receive(std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    if (auto message = receive()) return message;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (gone() || left.count() <= 0) return std::nullopt;
    pollfd poll_fd{fd(), POLLIN, 0};
    ::poll(&poll_fd, 1, static_cast<int>(left.count()));
  }
}

std::string WorkerProcess::take_printed() {
  std::string text;
  std::string chunk(kReadChunk, '\0');
  while (text.size() < kMostPrinted) {
    const ssize_t n = TEMP_FAILURE_RETRY(::read(printed_.number(), chunk.data(), chunk.size()));
    if (n <= 0) break;
    text.append(chunk, 0, static_cast<std::size_t>(n));
  }
  return text;
}

void WorkerProcess::kill() {
  channel_ = Descriptor();
  std::erase_if(stragglers(), [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  constexpr auto kPatience = std::chrono::seconds(2);
  if (!ends_within(pid_, kPatience)) stragglers().push_back(pid_);
  pid_ = -1;
}

WorkerEnd WorkerProcess::reap(std::chrono::milliseconds patience) {
  channel_ = Descriptor();
  const auto status = pid_ > 0 ? ends_within(pid_, patience) : std::nullopt;
  if (!status) {
    kill();
    return {"closed its channel and did not end"};
  }
  pid_ = -1;
  if (!WIFSIGNALED(*status)) return {fmt::format("exited with {}", WEXITSTATUS(*status))};
  const int signal = WTERMSIG(*status);
  const bool from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  return {fmt::format("killed by signal {} ({})", signal, strsignal(signal)), from_outside};
}

WorkerChannel::WorkerChannel(int fd) : fd_(fd) {
  // What this worker starts must not hold the channel open.
  ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

std::optional<nlohmann::ordered_json> WorkerChannel::receive() {
  while (true) {
    if (auto message = reader_.next()) return message;
    if (!read_some(fd_, reader_, 0)) return std::nullopt;
  }
}

void WorkerChannel::send(const nlohmann::ordered_json& message) {
  // A parent may be stopped for as long as somebody pleases; when it dies the channel ends.
  constexpr std::chrono::milliseconds kForEver{-1};
  if (!send_all(fd_, encode_frame(message), kForEver)) throw ProtocolError("the parent is gone");
}

void die_with_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the request took effect, and before this call: then the channel has hung
  // up.
  pollfd channel{kWorkerChannelFd, 0, 0};
  ::poll(&channel, 1, 0);
  const bool hung_up = (channel.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  if (hung_up || ::getppid() != parent) ::_exit(1);
}

}  // namespace tiletune
