#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/file.h"
#include "base/folder.h"
#include "cli/common.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What has become of a shard.
constexpr const char* kWaiting = "waiting";  ///< it has not begun
constexpr const char* kQueued = "queued";    ///< Slurm will start it, perhaps again
constexpr const char* kRunning = "running";
constexpr const char* kStopped =
    "stopped";                             ///< it began, left no result, and Slurm does not know it any more
constexpr const char* kFailed = "failed";  ///< it ended with an error
constexpr const char* kDone = "done";
constexpr std::array<const char*, 6> kStates{kWaiting, kQueued, kRunning, kStopped, kFailed, kDone};

struct ShardStatus {
  std::uint64_t shard = 1;
  std::string_view state = kWaiting;
  std::string node;       ///< where it began last
  std::int64_t rows = 0;  ///< in its database
  std::string reason;     ///< of failed: what it printed last
};

/// A task of an array that Slurm knows.
struct QueuedTask {
  std::string job;  ///< the array's number
  std::uint64_t task = 0;
  std::string state;  ///< "PD", "R", "CG"
};

constexpr std::size_t kSmallFile = std::size_t{1} << 16;

/// The end of a file in the array's folder. Empty where it is not there, cannot be read, or is a link that
/// leads out: files of an array that is running come and go.
std::string end_of(const Folder& folder, const std::string& name) {
  const Descriptor file = folder.open(name);
  std::string text(kSmallFile, '\0');
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return "";
  const off_t from = std::max<off_t>(status.st_size - static_cast<off_t>(text.size()), 0);
  text.resize(
      static_cast<std::size_t>(std::max<ssize_t>(::pread(file.number(), text.data(), text.size(), from), 0)));
  return text;
}

/// The last error of the last task, from the end of a log, which may be long.
std::string last_error(const std::string& log) {
  constexpr std::string_view kError = "tiletune: ";
  std::string last;
  for (const std::string& line : split(log, '\n')) {
    if (line == kTaskBegins) last.clear();
    if (line.starts_with(kError)) last = line.substr(kError.size());
  }
  return last;
}

std::int64_t rows_of(const fs::path& file) {
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

/// What squeue lists of this user's arrays; none where it is not there or does not answer.
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
    std::istringstream words(line);
    QueuedTask task;
    const bool has_words = words >> task.job >> task.task >> task.state && task.state.front() != '-';
    if (has_words) tasks.push_back(std::move(task));
  }
  return tasks;
}

/// What the files of an array say: FOLDER/shards/N.db, N.started, N.exit and N.log.
std::vector<ShardStatus> shard_states(const Folder& folder, std::uint64_t shards,
                                      const std::optional<std::vector<QueuedTask>>& queued) {
  const std::vector<std::string> jobs = split(end_of(folder, "jobs"), '\n');
  std::vector<ShardStatus> states;
  for (std::uint64_t shard = 1; shard <= shards; ++shard) {
    const std::string base = fmt::format("shards/{}", shard);
    ShardStatus status;
    status.shard = shard;
    if (folder.has(base + ".db")) status.rows = rows_of(folder.path() / (base + ".db"));
    status.node = std::string(trim(end_of(folder, base + ".started")));
    const std::string exit = std::string(trim(end_of(folder, base + ".exit")));
    const std::string error = exit.empty() || exit == "0" ? "" : last_error(end_of(folder, base + ".log"));
    // 1: no configuration of it can run.
    if (exit == "0" || (exit == "1" && error.starts_with("nothing to do")))
      status.state = kDone;
    else if (!exit.empty())
      status.state = kFailed;
    else if (!status.node.empty())
      status.state = queued ? kStopped : kRunning;
    if (queued && exit.empty()) {
      const auto task = std::find_if(queued->begin(), queued->end(), [&](const QueuedTask& one) {
        return one.task == shard && std::find(jobs.begin(), jobs.end(), one.job) != jobs.end();
      });
      if (task != queued->end())
        status.state = task->state == "PD" || task->state == "RQ" ? kQueued : kRunning;
    }
    if (status.state == kFailed || exit == "1") status.reason = error.empty() ? "exit status " + exit : error;
    states.push_back(std::move(status));
  }
  return states;
}

/// "3-5,7"
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

struct ArrayStatus {
  fs::path folder;
  Json plan;
  std::vector<ShardStatus> shards;

  std::vector<std::uint64_t> in(std::string_view state) const {
    std::vector<std::uint64_t> numbers;
    for (const ShardStatus& shard : shards)
      if (shard.state == state) numbers.push_back(shard.shard);
    return numbers;
  }
  bool is_done() const { return in(kDone).size() == shards.size(); }
};

/// The folder itself, or one for each type of GPU in it.
std::vector<fs::path> array_folders(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kSlurmPlan, error)) return {folder};
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / kSlurmPlan, error)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (!folders.empty()) return folders;
  throw UserError("this folder holds no array", Where{folder.string(), ""},
                  "Name the folder that 'tiletune slurm' wrote.");
}

std::string as_text(const ArrayStatus& array) {
  std::string text = printable(array.folder.string()) + ": " + counted(array.shards.size(), "shard");
  for (const char* state : kStates) {
    const std::size_t count = array.in(state).size();
    if (count > 0) text += fmt::format(", {} {}", count, state);
  }
  std::int64_t rows = 0;
  for (const ShardStatus& shard : array.shards) rows += shard.rows;
  text += "; " + counted(rows, "row");
  if (const Json count = array.plan.value("configurations", Json()); count.is_number_unsigned())
    text += fmt::format(" of {} configurations", count.get<std::uint64_t>());
  text += "\n";
  TextTable table;
  for (const char* name : {"shard", "state", "rows", "node", "reason"})
    table.add_column(name, std::string_view(name) == "rows" ? Align::right : Align::left);
  table.hide_empty_columns();
  for (const ShardStatus& shard : array.shards) {
    table.add_row({std::to_string(shard.shard), std::string(shard.state), std::to_string(shard.rows),
                   shard.node.empty() ? "-" : printable(shard.node),
                   shard.reason.empty() ? "-" : printable(shard.reason)});
  }
  text += table.text(stdout_style());
  std::vector<std::uint64_t> again;
  for (const ShardStatus& shard : array.shards)
    if (shard.state == kFailed || shard.state == kStopped) again.push_back(shard.shard);
  if (!again.empty())
    text += fmt::format("run {} again: {} {}\n", again.size() == 1 ? "it" : "these",
                        printable(shell_quoted((array.folder / "submit").string())), ranges_text(again));
  return text;
}

Json as_json(const ArrayStatus& array) {
  Json shards = Json::array();
  for (const ShardStatus& shard : array.shards)
    shards.push_back({{"shard", shard.shard},
                      {"state", shard.state},
                      {"rows", shard.rows},
                      {"node", shard.node},
                      {"reason", shard.reason}});
  return {
      {"folder", array.folder.string()}, {"plan", array.plan}, {"done", array.is_done()}, {"shards", shards}};
}

struct StatusCommand {
  fs::path folder;
  std::string format = "table";
};

int run(const StatusCommand& options) {
  const bool json = asks_for_json(options.format);
  const std::vector<fs::path> folders = array_folders(options.folder);
  const auto queued = queued_tasks();
  bool is_done = true;
  std::string text;
  Json list = Json::array();
  for (const fs::path& folder : folders) {
    ArrayStatus array{folder, read_json(folder / kSlurmPlan), {}};
    const Json shards = array.plan.is_object() ? array.plan.value("shards", Json()) : Json();
    if (!shards.is_number_unsigned() || shards.get<std::uint64_t>() > kMostShards)
      throw UserError("there is no number of shards", Where{(folder / kSlurmPlan).string(), "/shards"},
                      "Write the array again with 'tiletune slurm'.");
    array.shards = shard_states(Folder(folder), shards.get<std::uint64_t>(), queued);
    is_done = is_done && array.is_done();
    text += as_text(array);
    list.push_back(as_json(array));
  }
  print_either(json, Json{{"arrays", list}}, text);
  return is_done ? 0 : 1;
}

}  // namespace

Action add_slurm_status(CLI::App& slurm) {
  auto options = std::make_shared<StatusCommand>();
  CLI::App* command =
      slurm.add_subcommand("status", "Show the state of each shard; exit status 1 until all are done");
  command->add_option("FOLDER", options->folder, "Folder that 'tiletune slurm' wrote")->required();
  command->add_option("--format", options->format, "table or json")->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace tiletune
