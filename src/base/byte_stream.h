#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

struct gzFile_s;

namespace tiletune {

/// Whether the kernel makes up the file as it is read (/proc, /sys): it may never end, and says something of
/// the machine.
bool is_of_kernel(const std::filesystem::path& path);

/// Opens a file for reading, or a pipe; a symbolic link is followed. Never waits for a writer. Throws
/// UserError that names the file and the reason when there is none, and for a folder, a device, a socket and
/// a file that is_of_kernel().
Descriptor open_input(const std::filesystem::path& path);

/// The text of a file or pipe, unpacked where it is gzipped (known by its first bytes, not by its name).
/// Reading throws UserError when the file cannot be read, or its gzip stream is damaged or cut off.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& file);

  /// The next piece, which lasts until the one behind it; empty at the end.
  std::string_view next();

 private:
  std::filesystem::path path_;
  /// zlib's reader, which returns uncompressed files unchanged.
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> gzip_;
  std::vector<char> buffer_;
};

}  // namespace tiletune
