#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tiletune {

/// Far more than a person, or a program that lists values, writes into a config or a manifest.
inline constexpr std::size_t kLargestJson = std::size_t{16} << 20;

/// The whole file, or what comes out of a pipe. Throws UserError that names the file and the reason when it
/// cannot be read, is a folder, a device or a socket, or is larger than `limit_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{256} << 20);

/// Readers see the old or the new file, never a part. A killed writer leaves nothing, or
/// NAME.DIGITS.unfinished beside the file, which the next one removes. Creates missing folders. A file that
/// is there keeps its permissions, of a new one the umask decides. Throws UserError when that fails.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Writes as write_file_atomically(); a new file is closed to everybody else.
void write_private_file_atomically(const std::filesystem::path& path, std::string_view content);

/// As write_file_atomically() for the place a person named: a symbolic link is followed, and a device or pipe
/// is written to instead of being replaced.
void write_file(const std::filesystem::path& path, std::string_view content);
/// Writes as write_file() what is not in memory as a whole. What `write` throws leaves the file as it was.
void stream_to_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// Reads JSON (comments not allowed, duplicate keys refused, nesting limited to 200, keys of one object to
/// 10000). Throws UserError with line and column on bad syntax.
nlohmann::ordered_json read_json(const std::filesystem::path& path);
nlohmann::ordered_json parse_json(std::string_view text, const std::string& file_name);

/// Whether `path` is `folder` or begins with it, name by name. Compares the names as they are written:
/// "a/../b" is within "a", and "a" is not within ".".
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

/// The folder that holds kernel_templates/, configs/ and schemas/: $TILETUNE_HOME, else share/tiletune/
/// beside the folder of the executable (as it is installed), else the nearest such folder above the
/// executable. Symbolic links to the executable are followed. Throws UserError when there is none.
std::filesystem::path home_folder();
/// The running executable.
std::filesystem::path executable_path();
/// $XDG_CACHE_HOME/tiletune or ~/.cache/tiletune (not created). Without either variable, a folder of the user
/// among the temporary files. Throws UserError when somebody else has taken its place.
std::filesystem::path cache_folder();

}  // namespace tiletune
