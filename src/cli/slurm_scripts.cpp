#include "cli/slurm_scripts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// Before a task's time limit; it finishes what it measures and is queued again.
constexpr int kWarningSeconds = 120;
/// That take part in the finals of the merged database, where more are not near the best.
constexpr int kRecorded = 50;

/// One line of a script that Slurm reads: it takes quotes, and knows no other escape.
std::string option_line(const std::string& option) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == '\x7f'; };
  if (std::any_of(option.begin(), option.end(), is_control) || option.find('"') != std::string::npos)
    throw UserError(fmt::format("'{}' cannot be written in an #SBATCH line", printable(option)),
                    "Choose names without quotes and control characters.");
  return fmt::format("#SBATCH \"{}\"\n", option);
}

/// Slurm replaces "%j" and others in names of log files.
std::string log_name(const fs::path& file, const std::string& pattern = "") {
  std::string text;
  for (const char c : file.string()) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text + pattern;
}

std::string gpu_option(const SlurmArray& array, std::uint64_t count) {
  if (array.gpus == 0) return "";
  const std::string type = array.gpu_type.empty() ? "" : array.gpu_type + ":";
  return option_line(fmt::format("--gpus-per-node={}{}", type, count));
}

std::string heading(const SlurmArray& array, const char* what, const std::string& log) {
  std::string text =
      "#!/bin/bash\n# Written by 'tiletune slurm'. Start all jobs with the file 'submit' beside this one.\n";
  text += option_line("--job-name=" + plain_name("tiletune-" + array.name + what));
  text += option_line("--chdir=" + array.working_folder.string());
  text += option_line("--output=" + log);
  text += "#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n";
  if (array.cpus > 0) text += option_line(fmt::format("--cpus-per-task={}", array.cpus));
  if (!array.time.empty()) text += option_line("--time=" + array.time);
  for (const std::string& option : array.sbatch) text += option_line(option);
  return text;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

std::string settings(const SlurmArray& array) {
  std::string text = "set -u\n";
  text += "tiletune=" + shell_quoted(array.program.string()) + "\n";
  text += "folder=" + shell_quoted(array.folder.string()) + "\n";
  if (!array.cache.empty()) text += "export XDG_CACHE_HOME=" + shell_quoted(array.cache.string()) + "\n";
  return text;
}

/// Runs a command and waits until it has ended: bash's wait ends with every signal. Slurm sends TERM to all
/// processes of a job by itself, and a second one would end the sweep at once; the warning comes to this
/// shell alone. 127 is also what a wait for a process says that was waited for before.
constexpr const char* kRun = R"(
late=0 signalled=0 child= status=127
trap 'late=1 signalled=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1
trap 'signalled=1' TERM
run() {
  [ "$signalled" = 0 ] || { status=130; return; }
  "$@" &
  child=$!
  [ "$late" = 0 ] || kill -TERM "$child" 2>/dev/null
  local ended
  while :; do
    signalled=0
    wait "$child"
    ended=$?
    [ "$ended" = 127 ] || status=$ended
    [ "$signalled" = 0 ] && break
  done
}
)";

/// Of a job that sweeps. 130 and 143 are sweeps that were interrupted: Slurm queues a preempted task again
/// by itself, and a cancelled one is to end.
constexpr const char* kEnd = R"(
interrupted=0
[ "$status" != 130 ] && [ "$status" != 143 ] || interrupted=1
if [ "$late" = 1 ] && [ "$interrupted" = 1 ]; then
  echo "the time limit is near: queued again"
  scontrol requeue "$SLURM_JOB_ID"
  sleep 300
fi
)";

std::string array_option(std::uint64_t tasks, std::uint64_t at_once) {
  return option_line(at_once < tasks ? fmt::format("--array=1-{}%{}", tasks, at_once)
                                     : fmt::format("--array=1-{}", tasks));
}

std::string warning_option() { return option_line(fmt::format("--signal=B:USR1@{}", kWarningSeconds)); }

}  // namespace

std::string plain_name(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  if (name.starts_with('.') || name.starts_with('-')) name.front() = '_';
  return name;
}

fs::path shard_base(const fs::path& folder, std::uint64_t shard) {
  return folder / "shards" / std::to_string(shard);
}

std::string compile_script(const SlurmArray& array) {
  std::string text = heading(array, "-compile", log_name(array.folder / "shards", "/compile-%a.log"));
  text += array_option(array.compile_tasks, array.compile_tasks) + warning_option() + settings(array) + kRun;
  text += fmt::format("run \"$tiletune\" compile {} --gpu {} --shard \"$SLURM_ARRAY_TASK_ID/{}\"\n",
                      quoted(array.config), shell_quoted(array.model), array.compile_tasks);
  return text + kEnd + "exit \"$status\"\n";
}

std::string sweep_script(const SlurmArray& array) {
  std::string text = heading(array, "", log_name(array.folder / "shards", "/%a.log"));
  text += array_option(array.shards, array.at_once) + gpu_option(array, array.gpus) + warning_option();
  text += settings(array) + kRun;
  text += "base=$folder/shards/${SLURM_ARRAY_TASK_ID:?start this file with sbatch}\n";
  text += "rm -f \"$base.exit\"\n";
  text += "echo \"${SLURMD_NODENAME:-$(hostname)}\" >\"$base.started\"\n";
  text += fmt::format("echo '{}'\n", kTaskBegins);
  text +=
      "ended() { echo \"$1\" >\"$base.exit.new\" && mv \"$base.exit.new\" \"$base.exit\"; exit \"$1\"; }\n";
  if (array.local.empty()) {
    text += "database=$base.db\n";
  } else {
    text += "local_folder=$(mktemp -d " + shell_quoted((array.local / "tiletune.XXXXXX").string()) +
            ") || ended 2\n";
    text +=
        "keep=0\ntrap '[ \"$keep\" = 1 ] || rm -rf \"$local_folder\"' "
        "EXIT\ndatabase=$local_folder/shard.db\n";
    text += "[ ! -e \"$base.db\" ] || \"$tiletune\" merge \"$base.db\" -o \"$database\" || ended 2\n";
  }
  std::string where = "--gpu " + shell_quoted(array.model);
  if (array.gpus > 0) where = "--gpus all --finals off";
  // Strategies that learn do so from what other shards have found before this one begins.
  if (array.gpus > 0 && !array.has_lessons) where += " --learn-from \"$folder/shards\"";
  text += fmt::format(
      "run \"$tiletune\" sweep {} --shard \"$SLURM_ARRAY_TASK_ID/{}\" --db \"$database\" {}{}\n",
      quoted(array.config), array.shards, where, array.sweep.empty() ? "" : " " + quoted(array.sweep));
  if (!array.local.empty())
    text +=
        "[ ! -e \"$database\" ] || \"$tiletune\" merge \"$database\" -o \"$base.db\" ||\n"
        "  { status=2 keep=1; echo \"not merged, and kept: $database\"; }\n";
  text += kEnd;
  return text + "[ \"$interrupted\" = 1 ] || ended \"$status\"\nexit \"$status\"\n";
}

std::string finish_script(const SlurmArray& array) {
  std::string text = heading(array, "-finish", log_name(array.folder / "finish.log"));
  text += gpu_option(array, 1) + warning_option() + settings(array) + kRun;
  // What an earlier job exported is not the result of these shards.
  text += "rm -f \"$folder/best.json\"\n";
  text += "incomplete=0\n\"$tiletune\" slurm status \"$folder\" || incomplete=1\n";
  text += "databases=()\nfor ((shard = 1; shard <= " + std::to_string(array.shards) +
          "; ++shard)); do\n  [ ! -e \"$folder/shards/$shard.db\" ] || "
          "databases+=(\"$folder/shards/$shard.db\")\ndone\n";
  text += "[ \"${#databases[@]}\" -gt 0 ] || exit 1\n";
  text += "\"$tiletune\" merge \"${databases[@]}\" -o \"$folder/merged.db\" || exit\n";
  if (array.gpus > 0) {
    const std::string finals = array.finals.empty() ? "" : " --finals " + shell_quoted(array.finals);
    text += fmt::format("run \"$tiletune\" sweep {} --recorded {} --db \"$folder/merged.db\" --gpus 0{}{}\n",
                        quoted(array.config), kRecorded, finals,
                        array.sweep.empty() ? "" : " " + quoted(array.sweep));
    text += std::string(kEnd) + "[ \"$status\" = 0 ] || exit \"$status\"\n";
  }
  text += "\"$tiletune\" export --best --db \"$folder/merged.db\" -o \"$folder/best.json\" || exit\n";
  return text + "exit \"$incomplete\"\n";
}

std::string submit_script(const SlurmArray& array) {
  std::string text =
      "#!/bin/bash\n# Written by 'tiletune slurm'. Submits all shards, or those named: submit 3,7\n";
  const std::string limit = array.at_once < array.shards ? fmt::format("%{}", array.at_once) : "";
  text += "set -eu\nfolder=" + shell_quoted(array.folder.string()) + "\n";
  text += fmt::format("shards=${{1:-1-{}}}\n", array.shards);
  // What an earlier run left of these shards is not their state any more.
  text += R"(if [ $# -gt 1 ] || [[ ! $shards =~ ^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$ ]]; then
  echo "usage: submit [SHARDS], such as: submit 3,7-9" >&2
  exit 2
fi
IFS=, read -ra ranges <<<"$shards"
numbers=()
for range in "${ranges[@]}"; do
  for ((shard = 10#${range%-*}; shard <= 10#${range#*-}; ++shard)); do numbers+=("$shard"); done
done
# Two tasks of one shard would measure the same twice.
touch "$folder/jobs"
while read -r job task; do
  grep -qx "$job" "$folder/jobs" || continue
  for shard in "${numbers[@]}"; do
    [ "$shard" = "$task" ] || continue
    echo "submit: shard $shard is queued or running: wait for it, or cancel it with: scancel ${job}_$shard" >&2
    exit 2
  done
done < <(squeue --noheader --array --me --format='%F %K' 2>/dev/null || true)
for shard in "${numbers[@]}"; do rm -f "$folder/shards/$shard.exit"; done
after=
)";
  if (array.compile_tasks > 0) {
    text +=
        "if [ $# = 0 ]; then\n  job=$(sbatch --parsable \"$folder/compile.sbatch\")\n"
        "  after=--dependency=afterany:${job%%;*}\n  echo \"compiling: job ${job%%;*}\"\nfi\n";
  }
  text +=
      fmt::format("job=$(sbatch --parsable $after \"--array=$shards{}\" \"$folder/sweep.sbatch\")\n", limit);
  text +=
      "job=${job%%;*}\necho \"$job\" >>\"$folder/jobs\"\n"
      "finish=$(sbatch --parsable \"--dependency=afterany:$job\" \"$folder/finish.sbatch\")\n"
      "echo \"shards: job $job; merging afterwards: job ${finish%%;*}\"\n";
  return text;
}

}  // namespace tiletune
