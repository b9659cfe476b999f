#include "cli/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace tiletune {

CLI::Option* add_shard_option(CLI::App& command, std::string& text) {
  return command
      .add_option("--shard", text,
                  "Only one of N disjoint parts of the space, such as 3/16; /16: the part numbered "
                  "SLURM_ARRAY_TASK_ID")
      ->type_name("I/N");
}

void apply_shard(const std::string& text, Shard& shard) {
  if (text.empty()) return;
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string number = text.substr(0, slash);
  const char* const task = std::getenv("SLURM_ARRAY_TASK_ID");
  if (slash == 0 && task == nullptr)
    throw UserError(fmt::format("'{}' leaves the number to SLURM_ARRAY_TASK_ID, which is not set", text),
                    Where{"--shard", ""}, "Write the part and the number of parts, such as 3/16.");
  if (slash == 0) number = task;
  const auto parsed = [](const std::string& digits, std::uint64_t& value) {
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && rest == end && value > 0;
  };
  const std::string count = slash < text.size() ? text.substr(slash + 1) : "";
  if (parsed(number, shard.number) && parsed(count, shard.count) && shard.number <= shard.count &&
      shard.count <= kMostShards)
    return;
  throw UserError(
      slash == 0 ? fmt::format("SLURM_ARRAY_TASK_ID is {}, and shards are numbered 1 to {}", number, count)
                 : fmt::format("'{}' is not a shard", text),
      Where{"--shard", ""},
      fmt::format("Write the part and the number of parts, such as 3/16; at most {} parts.", kMostShards));
}

}  // namespace tiletune
