#include "cli/slurm_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/slurm_scripts.h"
#include "store/database.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmallFile = std::size_t{1} << 16;

/// Empty where it is not there or cannot be read: files of an array that is running come and go.
std::string small_file(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  try {
    return read_file(file, kSmallFile);
  } catch (const UserError&) {
    return "";
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string& word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

/// Of the last task: the end of a log, which may be long.
std::string last_error(const fs::path& log) {
  std::error_code error;
  const auto size = fs::file_size(log, error);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(error ? nullptr : std::fopen(log.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return "";
  if (size > kSmallFile) std::fseek(file.get(), -static_cast<long>(kSmallFile), SEEK_END);
  std::string text(kSmallFile, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (line == kTaskBegins) last.clear();
    if (line.starts_with("tiletune: ")) last = line.substr(std::string("tiletune: ").size());
  }
  return last;
}

std::int64_t rows_of(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return 0;
  try {
    const Database database(file, Database::Mode::read_only);
    TrialFilter kernels;
    kernels.kinds = {"kernel"};
    std::int64_t rows = 0;
    for (const auto& [outcome, count] : database.outcome_counts(kernels)) rows += count;
    return rows;
  } catch (const UserError&) {
    return 0;
  }
}

ShardState state_of_queue(const std::vector<QueuedTask>& queued, const std::vector<std::string>& jobs,
                          std::uint64_t shard, ShardState otherwise) {
  for (const QueuedTask& task : queued) {
    if (task.task != shard || std::find(jobs.begin(), jobs.end(), task.job) == jobs.end()) continue;
    return task.state == "PD" || task.state == "RQ" ? ShardState::queued : ShardState::running;
  }
  return otherwise;
}

}  // namespace

std::optional<std::vector<QueuedTask>> queued_tasks() {
  std::FILE* const squeue =
      ::popen("timeout 30 squeue --noheader --array --me --format='%F %K %t' 2>/dev/null", "r");
  if (squeue == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), squeue))
    text.append(buffer.data(), count);
  if (::pclose(squeue) != 0) return std::nullopt;
  std::vector<QueuedTask> tasks;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 3) continue;
    QueuedTask task{words[0], 0, words[2]};
    const char* const end = words[1].data() + words[1].size();
    if (std::from_chars(words[1].data(), end, task.task).ptr == end) tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<ShardStatus> shard_states(const fs::path& folder, std::uint64_t shards,
                                      const std::optional<std::vector<QueuedTask>>& queued) {
  const std::vector<std::string> jobs = split(small_file(folder / "jobs"), '\n');
  std::vector<ShardStatus> states;
  for (std::uint64_t shard = 1; shard <= shards; ++shard) {
    const std::string base = shard_base(folder, shard).string();
    ShardStatus status;
    status.shard = shard;
    status.rows = rows_of(base + ".db");
    status.node = std::string(trim(small_file(base + ".started")));
    const std::string exit = std::string(trim(small_file(base + ".exit")));
    const std::string error = exit.empty() || exit == "0" ? "" : last_error(base + ".log");
    // 1: no configuration of it can run.
    if (exit == "0" || (exit == "1" && error.starts_with("nothing to do"))) {
      status.state = ShardState::done;
    } else if (!exit.empty()) {
      status.state = ShardState::failed;
    } else if (!status.node.empty()) {
      status.state = queued ? ShardState::stopped : ShardState::running;
    }
    if (queued && exit.empty()) status.state = state_of_queue(*queued, jobs, shard, status.state);
    if (status.state == ShardState::failed || exit == "1") {
      status.reason = error;
      if (status.reason.empty()) status.reason = "exit status " + exit;
    }
    states.push_back(std::move(status));
  }
  return states;
}

std::string ranges_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += text.empty() ? "" : ",";
    text += last > i ? fmt::format("{}-{}", numbers[i], numbers[last]) : std::to_string(numbers[i]);
    i = last + 1;
  }
  return text;
}

}  // namespace tiletune
