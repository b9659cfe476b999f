#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

/// A sweep as an array of Slurm tasks, one for each shard, on GPUs of one model.
struct SlurmArray {
  std::filesystem::path folder;   ///< of the scripts, logs and databases; absolute
  std::filesystem::path program;  ///< tiletune, as the nodes find it
  std::filesystem::path working_folder;
  std::string name;  ///< of the sweep
  std::uint64_t shards = 1;
  std::uint64_t at_once = 1;        ///< tasks that may run at the same time
  std::uint64_t gpus = 1;           ///< of a task; 0: times are predicted
  std::string gpu_type;             ///< as Slurm calls it; empty: any
  std::uint64_t cpus = 0;           ///< of a task; 0: what Slurm gives by default
  std::string time;                 ///< limit of a task, as sbatch takes it; empty: the partition's
  std::vector<std::string> sbatch;  ///< further options of all jobs: "--partition=gpu"
  std::string model;                ///< that is predicted for, or compiled for first
  std::uint64_t compile_tasks = 0;  ///< without GPUs, that fill the kernel cache first; 0: none
  std::filesystem::path cache;      ///< folder of the kernel cache that machines share; empty: their own
  std::filesystem::path local;      ///< folder of each node for databases that are written; empty: none
  std::vector<std::string> config;  ///< the config and the options that all commands take
  std::vector<std::string> sweep;   ///< further options of the sweeps
  bool has_lessons = false;         ///< these name what is learned from
  std::string finals;               ///< of --finals, for those of the merged database; empty: the config's
};

/// The line of a shard's log with which each task begins.
inline constexpr const char* kTaskBegins = "tiletune slurm: a task begins";

/// Where a shard's files lie, without their endings: FOLDER/shards/N.
std::filesystem::path shard_base(const std::filesystem::path& folder, std::uint64_t shard);

/// Makes the text a name of a file, folder or job that leads nowhere else: '_' replaces all but letters,
/// digits, '_', '-' and '.', and also a '.' or '-' at its beginning.
std::string plain_name(std::string_view text);

/// Scripts of bash. Every word that comes from outside is quoted. Throws UserError for words that no line of
/// options can hold.
std::string compile_script(const SlurmArray& array);
std::string sweep_script(const SlurmArray& array);
std::string finish_script(const SlurmArray& array);
std::string submit_script(const SlurmArray& array);

}  // namespace tiletune
