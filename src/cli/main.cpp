#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/version.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "measure/client.h"
#include "tune/python_run.h"
#include "tune/task.h"

namespace tiletune {

/// What was built: the first digits of its commit, and "-dirty" where tracked files were changed; "unknown"
/// outside a git checkout. For people: databases and exports name the version alone.
extern const char* const kCommit;

namespace {

constexpr int kNothingToDo = 1;
constexpr int kUserError = 2;
constexpr int kGpuError = 3;
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h

struct WorkerOptions {
  std::string devices;
  bool confined = false;
  std::vector<std::string> readable;
  std::vector<std::string> writable;
};

/// Adds the commands that take no options of a person's.
void add_other_commands(CLI::App& app, Action& action) {
  const auto add = [&](const char* name, const char* help, int (*run)()) {
    CLI::App* command = app.add_subcommand(name, help);
    command->callback([run, &action] { action = run; });
    return command;
  };
  const auto print_path = [] {
    write_output("", (home_folder() / "python").string() + "\n");
    return 0;
  };
  add("python-path", "Print the folder of the Python package that runs Kernel Tuner scripts", print_path)
      ->footer("Example:\n  PYTHONPATH=$(tiletune python-path) python3 matmul.py");
  add("compile-worker", "", run_compile_worker)->group("");
  add("python-worker", "", run_python_worker)->group("");
  auto [gpu, worker] = add_command<WorkerOptions>(app, action, "gpu-worker", "", [](WorkerOptions& asked) {
    return run_gpu_worker(
        parse_gpu_indices(asked.devices), asked.confined,
        {{asked.readable.begin(), asked.readable.end()}, {asked.writable.begin(), asked.writable.end()}});
  });
  gpu.group("");
  gpu.add_option("devices", worker.devices)->required();
  gpu.add_flag("--confined", worker.confined);
  gpu.add_option("--read", worker.readable)->allow_extra_args(false);
  gpu.add_option("--write", worker.writable)->allow_extra_args(false);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{
      "Autotuner for CUDA kernels: sweeps a JSON search space, compiles every configuration with NVRTC, "
      "verifies and times it, and keeps a ranked database."};
  app.set_version_flag("--version", fmt::format("tiletune {} ({})", kVersion, kCommit));
  app.require_subcommand(1);
  app.footer(
      "Start with: tiletune sweep configs/quick.json\nEach command explains itself: tiletune COMMAND --help");
  // For the record, which is printed and exported: whatever was typed, it is one line of UTF-8.
  std::string command_line = "tiletune";
  for (int i = 1; i < argc; ++i) command_line += " " + shell_quoted(argv[i]);
  command_line = printable(command_line);
  Action action;
  add_sweep_command(app, action, command_line);
  add_bench_command(app, action, command_line);
  for (const auto add : {add_init_command, add_check_command, add_space_command, add_inspect_command,
                         add_compile_command, add_rank_command, add_portfolio_command, add_compare_command,
                         add_export_command, add_import_command, add_merge_command})
    add(app, action);
  add_report_command(app, action, command_line);
  for (const auto add :
       {add_slurm_command, add_doctor_command, add_argument_uses_command, add_other_commands})
    add(app, action);
  check_command_line({argv + 1, argv + argc}, app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    refuse_extras(app);
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_repetitions(app);
    throw UserError(error.what(), help_remedy(app));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app.exit(error, text, text);
      write_output("", fitted(text.str(), stdout_style().width));
      return 0;
    }
    throw UserError(error.what(), help_remedy(app));
  }
  return action();
}

/// Where even that cannot be written, the exit code alone must tell.
void complain(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

int report(const char* kind, const UserError& error, int code) {
  complain(fmt::format("tiletune: {}: {}\n", kind, printable_message(error.what())));
  return code;
}

}  // namespace
}  // namespace tiletune

int main(int argc, char** argv) {
  using namespace tiletune;
  // Where standard input, output or error is closed, files and channels would take their numbers.
  int descriptor = STDIN_FILENO;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
  // What the shell has open is not for programs that this one starts.
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none))
    if (const int number = std::stoi(entry.path().filename()); number > STDERR_FILENO)
      ::fcntl(number, F_SETFD, FD_CLOEXEC);
  // A sweep of many templates holds their folders open. Programs that select() need the low limit; these do
  // not.
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  // A file that may not grow (ulimit -f) fails in its write, as on a full disk, instead of ending the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parse_and_run(argc, argv);
  } catch (const NothingToDo& error) {
    return report("nothing to do", error, kNothingToDo);
  } catch (const UserError& error) {
    const bool ended = dynamic_cast<const DatabaseLocked*>(&error) != nullptr ||
                       dynamic_cast<const PlanningStopped*>(&error) != nullptr;
    return report("error", error, ended && interrupted() ? kInterrupted : kUserError);
  } catch (const GpuError& error) {
    return report("GPU error", {error.what(), kGpuRemedy}, kGpuError);
  } catch (const std::system_error& error) {
    // Paths that cannot be resolved, and limits: no thread, no descriptor.
    return report("error",
                  {error.what(), "Check the path, free disk space and the process's limits (ulimit -a)."},
                  kUserError);
  } catch (const std::bad_alloc&) {
    const UserError error("out of memory",
                          "Choose fewer rows or problems, or let the process use more memory (ulimit -v).");
    return report("error", error, kUserError);
  } catch (const std::exception& error) {
    return report("internal error", {error.what(), ""}, kInternalError);
  }
}
