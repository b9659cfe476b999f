#include "base/own_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// A folder of every system, over which the view is made.
constexpr const char* kView = "/dev";

[[noreturn]] void fail(const fs::path& path) {
  throw std::runtime_error(fmt::format("{} cannot be shown: {}", path.string(), std::strerror(errno)));
}

bool mount_view() { return ::mount("tmpfs", kView, "tmpfs", MS_NOSUID, "mode=755") == 0; }

/// As in a new user namespace nothing else may be.
void keep_user(uid_t user, gid_t group) {
  const auto write = [](const char* file, const std::string& text) {
    const Descriptor opened(::open(file, O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const auto written = ::write(opened.number(), text.data(), text.size());
  };
  write("/proc/self/setgroups", "deny");
  write("/proc/self/uid_map", fmt::format("{0} {0} 1", user));
  write("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

/// What stands between the slashes.
std::vector<fs::path> parts_of(const fs::path& path) {
  std::vector<fs::path> parts;
  for (const fs::path& part : path.relative_path())
    if (!part.empty() && part != ".") parts.push_back(part);
  return parts;
}

class View {
 public:
  void show(const fs::path& path, const Descriptor& place) {
    std::vector<fs::path> parts = parts_of(path);
    fs::path real = "/";
    int links = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const fs::path next = parts[i] == ".." ? real.parent_path() : real / parts[i];
      if (shown_.contains(next)) return;
      std::error_code none;
      constexpr int kMostLinks = 40;  // as Linux follows
      if (const fs::path target = fs::read_symlink(next, none); !none && ++links < kMostLinks) {
        if (::symlink(target.c_str(), within(next).c_str()) != 0 && errno != EEXIST) fail(next);
        std::vector<fs::path> onward = parts_of(target);
        onward.insert(onward.end(), parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end());
        parts = std::move(onward);
        i = static_cast<std::size_t>(-1);
        if (target.is_absolute()) real = "/";
        continue;
      }
      real = next;
      if (i + 1 < parts.size()) make_folder(real);
    }
    bind(real, place);
  }

 private:
  static std::string within(const fs::path& path) { return kView + path.string(); }

  static void make_folder(const fs::path& path) {
    constexpr mode_t kMode = 0755;
    if (::mkdir(within(path).c_str(), kMode) != 0 && errno != EEXIST) fail(path);
  }

  void bind(const fs::path& path, const Descriptor& place) {
    struct stat status {};
    if (::fstat(place.number(), &status) != 0) fail(path);
    if (S_ISDIR(status.st_mode)) {
      make_folder(path);
    } else if (!Descriptor(::open(within(path).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, S_IRUSR)).is_open()) {
      fail(path);
    }
    const Descriptor tree(
        static_cast<int>(::syscall(SYS_open_tree, place.number(), "",
                                   AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
    if (!tree.is_open() || ::syscall(SYS_move_mount, tree.number(), "", AT_FDCWD, within(path).c_str(),
                                     MOVE_MOUNT_F_EMPTY_PATH) != 0)
      fail(path);
    shown_.insert(path);
  }

  std::set<fs::path> shown_;  ///< with all that lies beneath
};

}  // namespace

bool separate_mounts() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    keep_user(user, group);
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mount_view()) return false;
  return ::umount2(kView, MNT_DETACH) == 0;
}

bool may_separate_mounts() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(separate_mounts() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

void show_only(std::initializer_list<const Places*> all) {
  if (!mount_view()) fail(kView);
  View view;
  for (const Places* places : all)
    for (const auto& [path, place] : places->all()) view.show(path, place);
  if (::chroot(kView) != 0 || ::chdir("/") != 0) fail(kView);
}

}  // namespace tiletune
