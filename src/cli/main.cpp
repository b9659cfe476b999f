#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "compile/pool.h"
#include "measure/worker.h"
#include "output/display.h"
#include "output/table.h"
#include "store/database.h"
#include "tune/python_run.h"
#include "tune/task.h"

namespace tiletune {

/// What was built: the first digits of its commit, and "-dirty" where tracked files were changed; "unknown"
/// outside a git checkout. For people: databases and exports name the version alone.
extern const char* const kCommit;

}  // namespace tiletune

namespace {

constexpr int kNothingToDo = 1;
constexpr int kUserError = 2;
constexpr int kGpuError = 3;
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h

/// For the record, which is printed and exported: whatever was typed, it is one line of UTF-8.
std::string quoted_command_line(int argc, char** argv) {
  std::string text = "tiletune";
  for (int i = 1; i < argc; ++i) text += " " + tiletune::shell_quoted(argv[i]);
  return tiletune::printable(text);
}

struct WorkerOptions {
  std::string devices;
  bool confined = false;
  std::vector<std::string> readable;
  std::vector<std::string> writable;
};

void add_python_path_command(CLI::App& app, tiletune::Action& action) {
  CLI::App* command = app.add_subcommand(
      "python-path", "Print the folder of the Python package that runs Kernel Tuner scripts");
  command->footer("Example:\n  PYTHONPATH=$(tiletune python-path) python3 matmul.py");
  command->callback([&action] {
    action = [] {
      tiletune::write_output("", (tiletune::home_folder() / "python").string() + "\n");
      return 0;
    };
  });
}

void add_worker_commands(CLI::App& app, tiletune::Action& action, WorkerOptions& worker) {
  CLI::App* compile = app.add_subcommand("compile-worker", "")->group("");
  compile->callback([&action] { action = [] { return tiletune::run_compile_worker(); }; });
  CLI::App* python = app.add_subcommand("python-worker", "")->group("");
  python->callback([&action] { action = [] { return tiletune::run_python_worker(); }; });
  CLI::App* gpu = app.add_subcommand("gpu-worker", "")->group("");
  gpu->add_option("devices", worker.devices)->required();
  gpu->add_flag("--confined", worker.confined);
  gpu->add_option("--read", worker.readable)->allow_extra_args(false);
  gpu->add_option("--write", worker.writable)->allow_extra_args(false);
  gpu->callback([&action, &worker] {
    action = [&worker] {
      const tiletune::WorkerReach reach{{worker.readable.begin(), worker.readable.end()},
                                        {worker.writable.begin(), worker.writable.end()}};
      return tiletune::run_gpu_worker(tiletune::parse_gpu_indices(worker.devices), worker.confined, reach);
    };
  });
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{
      "Autotuner for CUDA kernels: sweeps a JSON search space, compiles every configuration with NVRTC, "
      "verifies and times it, and keeps a ranked database."};
  app.set_version_flag("--version", fmt::format("tiletune {} ({})", tiletune::kVersion, tiletune::kCommit));
  app.require_subcommand(1);
  app.footer(
      "Start with: tiletune sweep configs/quick.json\nEach command explains itself: tiletune COMMAND --help");
  tiletune::Action action;
  WorkerOptions worker;
  tiletune::add_sweep_command(app, action, quoted_command_line(argc, argv));
  tiletune::add_bench_command(app, action, quoted_command_line(argc, argv));
  tiletune::add_init_command(app, action);
  tiletune::add_check_command(app, action);
  tiletune::add_space_command(app, action);
  tiletune::add_inspect_command(app, action);
  tiletune::add_compile_command(app, action);
  tiletune::add_rank_command(app, action);
  tiletune::add_portfolio_command(app, action);
  tiletune::add_compare_command(app, action);
  tiletune::add_export_command(app, action);
  tiletune::add_import_command(app, action);
  tiletune::add_merge_command(app, action);
  tiletune::add_report_command(app, action, quoted_command_line(argc, argv));
  tiletune::add_slurm_command(app, action);
  tiletune::add_doctor_command(app, action);
  add_python_path_command(app, action);
  add_worker_commands(app, action, worker);
  tiletune::check_command_line({argv + 1, argv + argc}, app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    tiletune::refuse_extras(app);
  } catch (const CLI::ArgumentMismatch& error) {
    tiletune::refuse_repetitions(app);
    throw tiletune::UserError(error.what(), tiletune::help_remedy(app));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app.exit(error, text, text);
      tiletune::write_output("", tiletune::fitted(text.str(), tiletune::stdout_style().width));
      return 0;
    }
    throw tiletune::UserError(error.what(), tiletune::help_remedy(app));
  }
  return action();
}

/// Where standard input, output or error is closed, files and channels would take their numbers.
void occupy_standard_descriptors() {
  while (true) {
    const int descriptor = ::open("/dev/null", O_RDWR);
    if (descriptor > STDERR_FILENO) ::close(descriptor);
    if (descriptor < 0 || descriptor > STDERR_FILENO) return;
  }
}

/// Where even that cannot be written, the exit code alone must tell.
void complain(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

int report(const char* kind, const std::exception& error, int code) {
  complain(fmt::format("tiletune: {}: {}\n", kind, tiletune::printable_message(error.what())));
  return code;
}

/// A sweep of many templates holds their folders open. Programs that select() need the low limit; these do
/// not.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  allow_many_descriptors();
  // A file that may not grow (ulimit -f) fails in its write, as on a full disk, instead of ending the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parse_and_run(argc, argv);
  } catch (const tiletune::NothingToDo& error) {
    return report("nothing to do", error, kNothingToDo);
  } catch (const tiletune::DatabaseLocked& error) {
    return report("error", error, tiletune::interrupted() ? tiletune::kInterrupted : kUserError);
  } catch (const tiletune::PlanningStopped& error) {
    return report("error", error, tiletune::interrupted() ? tiletune::kInterrupted : kUserError);
  } catch (const tiletune::UserError& error) {
    return report("error", error, kUserError);
  } catch (const tiletune::GpuError& error) {
    report("GPU error", error, kGpuError);
    complain(fmt::format("  {}\n", tiletune::kGpuRemedy));
    return kGpuError;
  } catch (const std::bad_alloc&) {
    const tiletune::UserError error(
        "out of memory", "Choose fewer rows or problems, or let the process use more (ulimit -v).");
    return report("error", error, kUserError);
  } catch (const std::exception& error) {
    return report("internal error", error, kInternalError);
  }
}
