#include "cli/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace tiletune {

namespace {

void remount(const std::filesystem::path& folder, unsigned long flags, const std::string& options) {
  if (::mount("none", folder.c_str(), "tmpfs", MS_REMOUNT | flags, options.c_str()) != 0) {
    throw std::runtime_error("cannot mount " + folder.string() + " again");
  }
}

}  // namespace

SmallDisk::SmallDisk(std::filesystem::path folder, const std::string& size) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  const std::string options = "size=" + size;
  mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount("none", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

void SmallDisk::resize(const std::string& size) const { remount(folder_, 0, "size=" + size); }

void SmallDisk::write_protect() const { remount(folder_, MS_RDONLY, ""); }

void SmallDisk::fill() const {
  constexpr int kMode = 0600;
  const int fd = ::open((folder_ / "filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  const std::string block(std::size_t{1} << 12, 'x');
  while (::write(fd, block.data(), block.size()) > 0) {
  }
  ::close(fd);
}

}  // namespace tiletune
