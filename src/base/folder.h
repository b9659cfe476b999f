#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"

namespace tiletune {

/// A new folder for files that nobody wants to keep; removed, with all that lies in it, with this object.
/// A process that is killed leaves its folder behind; the next one of the same user and machine that makes a
/// folder in the same place removes it. A mark in the folder, which its process keeps locked, tells whether
/// it is in use. Where the file system has no locks there is no mark, and nothing is removed.
class ScratchFolder {
 public:
  /// Where the system has its temporary files. Throws UserError, as the other, when none can be made.
  ScratchFolder();
  /// In a folder with room for what will lie in it.
  explicit ScratchFolder(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor mark_;
};

/// What becomes of symbolic links in the path to a folder.
enum class Links { follow, refuse };

/// A folder that stays open. Files in it are opened relative to its descriptor, so that a name means the same
/// file however the path to the folder changes meanwhile, and no name leads out of it.
class Folder {
 public:
  /// A path that was resolved before has no symbolic links, so that one in it means that somebody exchanged a
  /// part of it. Throws UserError when there is no such folder, or it cannot be opened.
  explicit Folder(const std::filesystem::path& path, Links links = Links::follow);

  /// One that is open already, by the path that it is called by.
  Folder(std::filesystem::path path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  /// The path as it was given.
  const std::filesystem::path& path() const { return path_; }
  /// Where it is now: absolute and without symbolic links. Throws UserError when it has been removed.
  std::filesystem::path real_path() const;
  int descriptor() const { return descriptor_.number(); }

  /// Opens the regular file `name` beneath the folder for reading. Symbolic links are followed as long as
  /// they stay beneath it (openat2, RESOLVE_BENEATH). Not open, with errno, when there is none: EXDEV where
  /// the name or a link leads out, EINVAL for what is not a regular file, ENOTSUP where /proc is not mounted.
  /// Never waits and never starts a device.
  Descriptor open(const std::filesystem::path& name) const;

  /// Whether anything lies beneath the folder under that name.
  bool has(const std::filesystem::path& name) const;

  /// The folder `name` beneath it, by the same rules. None, with errno, where there is none.
  std::optional<Folder> folder(const std::filesystem::path& name) const;

  /// What is in the file. Throws UserError when open() finds none, or it is larger than `limit_bytes`.
  std::string read(const std::filesystem::path& name, std::size_t limit_bytes) const;

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
};

/// What is in an open file from where it stands. Throws UserError, with `name` for its place, when that is
/// larger than `limit_bytes` or cannot be read. Waits for the writers of a pipe.
std::string read_open_file(const Descriptor& file, const std::filesystem::path& name,
                           std::size_t limit_bytes);

/// Makes a folder that nobody else can enter, and those above it that are missing, or checks one that is
/// there: what lies in it may be believed.
/// One of the user's own that others can write to is removed first, with all that lies in it, which may be
/// anybody's. The user's own symbolic link may take its place; what it leads to is never removed. Throws
/// UserError for a folder or a link of another user, a link to a folder that others can write to, and a file,
/// and when it cannot be made; on a full disk it is left out.
void make_private_folder(const std::filesystem::path& path);

/// Why make_private_folder() would refuse it, or that it is a link and those are refused; else empty. Changes
/// nothing.
std::string folder_distrust(const std::filesystem::path& path, Links links = Links::follow);

/// Whether what is open is a folder, the user's own, and closed to the writing of others.
bool is_private_folder(const Descriptor& folder);
/// Whether an open file is a regular one, the user's own, and closed to the writing of others.
bool is_private_file(const Descriptor& file);

}  // namespace tiletune
