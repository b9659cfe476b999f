#include "base/file.h"
#include "cli/common.h"
#include "deploy/deployment.h"
#include "deploy/one_kernel.h"
#include "output/export.h"
#include "output/report/report.h"
#include "rank/portfolio.h"
#include "spec/reader.h"
#include "tune/provenance.h"

namespace tiletune {

namespace {

struct ExportOptions {
  const CLI::App* command = nullptr;
  FilterOptions rows;
  bool best = false;
  bool samples = false;
  std::string format = "json";
  std::string name_space = "tuned";
  std::vector<std::string> architectures;
  bool jit = false;
  bool with_library = false;
  bool check = false;
  std::vector<std::filesystem::path> template_folders;
  PortfolioOptions portfolio;
  std::filesystem::path output;
};

/// What a format has of the rows.
enum class Has { rows, program, one_kernel };

struct ExportFormat {
  std::string_view name;
  std::string_view help;
  Has has;
};
constexpr std::array<ExportFormat, 6> kFormats{
    {{"json", "all columns, or with --best what to launch and how", Has::rows},
     {"t4", "results as autotuners exchange them, with every sample", Has::rows},
     {"cuda", "a folder with a library that launches the best kernel for any size; builds without tiletune",
      Has::program},
     {"header", "a C++17 header that chooses kernels in the same way; your program launches them",
      Has::program},
     {"defines", "nvcc options for the best configuration of one problem", Has::one_kernel},
     {"cmake", "these options as CMake variables, with source, kernel and launch configuration",
      Has::one_kernel}}};

std::string formats_help() {
  std::vector<std::string> lines;
  for (const ExportFormat& format : kFormats)
    lines.push_back(fmt::format("{}: {}", format.name, format.help));
  return join(lines, "; ");
}

/// Throws UserError where there is no such format.
const ExportFormat& format_of(const ExportOptions& options) {
  std::vector<std::string> known;
  for (const ExportFormat& format : kFormats) {
    if (format.name == options.format) return format;
    known.emplace_back(format.name);
  }
  throw UserError(fmt::format("there is no export format '{}'", options.format), Where{"--format", ""},
                  fmt::format("Use one of {}; for CSV: tiletune rank --format csv.", join(known, ", ")));
}

/// Throws UserError for options that have no effect with the others.
void check_options(const CLI::App& command, const ExportOptions& options) {
  const Has has = format_of(options).has;
  const bool is_program = has == Has::program;
  const bool is_folder = options.format == "cuda";
  const auto needs = [&](const char* option, bool is_right, const char* format) {
    if (is_right || command.count(option) == 0) return;
    throw UserError(fmt::format("has no effect without --format {}", format), Where{option, ""},
                    fmt::format("Add --format {}, or leave out {}.", format, option));
  };
  needs("--namespace", has != Has::rows, "cuda, header, defines or cmake");
  if (has == Has::rows && !options.best && command.count("--template-folder") > 0)
    throw UserError("has no effect on a list of all rows", Where{"--template-folder", ""},
                    "Add --best, or --format cuda, header, defines or cmake.");
  needs("--portfolio", is_program, "cuda or header");
  needs("--arch", is_folder, "cuda");
  needs("--jit", is_folder, "cuda");
  needs("--with-library", is_folder, "cuda");
  needs("--check", is_folder, "cuda");
  if (options.samples && (has != Has::rows || (options.best && options.format == "json")))
    throw UserError(
        fmt::format("{} lists no samples", has != Has::rows ? "--format " + options.format : "--best"),
        Where{"--samples", ""}, "Leave one of the two out.");
  if (options.best && options.format == "t4")
    throw UserError("has no effect with --best", Where{"--format", ""}, "Leave one of the two out.");
  if (is_folder && (options.output.empty() || options.output == "-"))
    throw UserError("writes a folder, which needs a name", Where{"--format cuda", ""},
                    "Pass -o FOLDER, such as -o tuned.");
  if (has != Has::rows) check_header_namespace(options.name_space);
  constexpr std::array kOtherNames{"kernels",    "test", "all",  "install", "clean", "help", "package",
                                   "edit_cache", "main", "load", "torch",   "cuda",  "at",   "c10"};
  if (is_folder &&
      (identifier_of(options.name_space) != options.name_space || is_among(options.name_space, kOtherNames)))
    throw UserError(fmt::format("'{}' cannot be the name of a library", options.name_space),
                    Where{"--namespace", ""},
                    "Use one word that neither C++ nor CMake has a meaning for, such as tuned.");
  for (const std::string& architecture : options.architectures) {
    if (!is_architecture(architecture))
      throw UserError(fmt::format("'{}' is not an architecture", architecture), Where{"--arch", ""},
                      "Write compute capabilities without a dot, such as --arch 90a,80.");
  }
}

/// " (12.3 KiB)" of a file with something in it.
std::string weight_of(const std::filesystem::path& file) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  return unknown ? "" : fmt::format(" ({})", human_bytes(bytes));
}

/// Writes the files of a folder that are not there yet or hold something else. With `checks` it only names
/// them.
int write_folder(const std::map<std::string, std::string>& files, const std::filesystem::path& folder,
                 bool checks) {
  std::vector<std::string> differ;
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = folder / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && read_file(path) == text) continue;
    differ.push_back(name);
    if (!checks) write_file_atomically(path, text);
  }
  const std::string place = printable(folder.string());
  if (!checks) {
    fmt::print(stderr, "wrote {} of {} in {}\n", differ.size(), counted(files.size(), "file"), place);
    return 0;
  }
  for (const char* part : {"include", "kernels", "src", "test", "torch"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / part, error)) {
      const std::string name = entry.path().lexically_relative(folder).string();
      if (entry.is_regular_file(error) && !files.contains(name)) differ.push_back(name);
    }
  }
  for (const std::string& name : differ) fmt::print("{}/{}\n", place, printable(name));
  fmt::print(stderr, "{}: {} of {} are out of date\n", place, differ.size(), counted(files.size(), "file"));
  return differ.empty() ? 0 : 1;
}

int write_program(const ExportOptions& options, const Database& database, RecordedKernels& recorded,
                  const ExportRequest& request) {
  const Deployment deployment = make_deployment(
      database, recorded, {request.filter, options.portfolio, options.with_library, request.note});
  if (options.format == "cuda")
    return write_folder(folder_files(deployment, {options.name_space, options.architectures, options.jit}),
                        options.output, options.check);
  stream_output(options.output,
                [&](std::ostream& out) { out << kernels_header(deployment, options.name_space); });
  return 0;
}

int run(ExportOptions& options) {
  check_options(*options.command, options);
  if (options.format != "cuda") check_output(options.output, options.rows.database);
  const Database database = options.rows.open();
  ExportRequest request{options.rows.filter({&database}), options.samples};
  request.note = [said = std::set<std::string>()](const std::string& text) mutable {
    if (said.insert(text).second) fmt::print(stderr, "note: {}\n", printable(text));
  };
  const Has has = format_of(options).has;
  std::optional<RecordedKernels> recorded;
  if (has != Has::rows || options.best) recorded.emplace(database, options.template_folders);
  request.complete = [&](std::int64_t row, nlohmann::ordered_json& entry) {
    add_definition(*recorded, row, request.note, entry);
  };
  int code = 0;
  show_rows(database, request.filter, [&] {
    TrialFilter asked = request.filter;
    asked.baselines = asked.templates.empty();  // which stand by any template
    require_rows(database, asked);
    if (has == Has::program) {
      code = write_program(options, database, *recorded, request);
      return;
    }
    if (has == Has::one_kernel) {
      const RecordedKernel kernel = only_kernel(*recorded, groups_that_ran(database, request));
      const auto write = options.format == "defines" ? defines_text : cmake_text;
      const std::string text = write(kernel, macro_of(options.name_space));
      stream_output(options.output, [&](std::ostream& out) { out << text; });
      return;
    }
    const auto write = options.format == "t4" ? write_t4 : options.best ? write_best : write_export;
    stream_output(options.output, [&](std::ostream& out) { write(out, database, request); });
  });
  if (options.format != "cuda" && !options.output.empty() && options.output != "-")
    fmt::print(stderr, "wrote {}{}\n", printable(options.output.string()), weight_of(options.output));
  return code;
}

struct ReportFlags {
  const CLI::App* command = nullptr;
  FilterOptions rows;
  std::int64_t limit = 10000;
  std::filesystem::path output = "report.html";
  std::string command_line;
};

/// On stderr: the page itself may go to standard output.
void print_result(const ReportFlags& flags, const ReportSize& size) {
  const bool is_file = flags.output != "-";
  fmt::print(stderr, "{}{}: {} in {}{}\n", is_file ? printable(flags.output.string()) : "report",
             is_file ? weight_of(flags.output) : "", counted(size.shown, "configuration"),
             counted(size.groups, "comparable set"),
             size.shown == size.configurations
                 ? ""
                 : fmt::format(", {} slower ones left out (--limit)", size.configurations - size.shown));
  if (!report_has_charts())
    fmt::print(stderr,
               "the page has tables instead of charts: tiletune was built without Vega (apt-get install "
               "libjs-vega, then rebuild)\n");
}

[[noreturn]] void throw_no_row(const ReportFlags& flags) {
  const std::string file = flags.rows.database.string();
  throw NothingToDo("no row matches", Where{file, ""},
                    fmt::format("Loosen the filters, name another file with --db, or fill this one: tiletune "
                                "sweep CONFIG --db {0}, or tiletune import FILE --db {0}.",
                                shell_quoted(file)));
}

int run(ReportFlags& flags) {
  check_default(*flags.command, "--output", flags.output);
  check_output(flags.output, flags.rows.database);
  const Database database = flags.rows.open();
  const TrialFilter filter = flags.rows.filter({&database});
  const std::vector<GpuModel> models = shipped_gpu_models();
  const ReportOptions options{static_cast<std::size_t>(flags.limit), flags.command_line, utc_now(),
                              [&](const std::string& gpu) { return alias_of(models, gpu); }};
  ReportSize size;
  show_rows(database, filter, [&] {
    if (database.outcome_counts(filter).empty()) throw_no_row(flags);
    stream_output(flags.output, [&](std::ostream& out) {
      size = write_report(out, database, filter, options);
      if (size.groups == 0) throw_no_row(flags);  // baselines alone
    });
  });
  print_result(flags, size);
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<ExportOptions>(
      app, action, "export", "Write results as JSON, or the best kernels as a library or header", run);
  options.command = &command;
  options.rows.add_to(command);
  command.add_flag("--best", options.best, "Only the best configuration per GPU and problem, ready to use");
  command.add_flag("--samples", options.samples, "Include every raw sample");
  command.add_option("--format", options.format, formats_help())->capture_default_str();
  command
      .add_option("--namespace", options.name_space,
                  "C++ namespace of the header or library, or what names begin with; use different ones for "
                  "two in one "
                  "program")
      ->capture_default_str();
  constexpr std::size_t kMostOfAProgram = 64;
  add_option(command, "--portfolio", options.portfolio.most_kernels,
             "At most N kernels for all problems, chosen as 'tiletune portfolio -k N' does",
             {.type = "N", .check = CLI::Range(std::size_t{1}, kMostOfAProgram), .shows_default = true});
  command
      .add_option(
          "--arch", options.architectures,
          "Architectures to compile the library's kernels for, such as 90a,80 (default: those of the rows)")
      ->delimiter(',');
  command.add_flag("--jit", options.jit,
                   "Also compile kernels at run time, with NVRTC, on GPUs of other architectures");
  command.add_flag("--with-library", options.with_library,
                   "Call cuBLAS for sizes at which it is faster; its times must be recorded (--baseline)");
  command.add_flag("--check", options.check,
                   "Write nothing; list the files that are out of date, and exit with 1 if there are any");
  add_option(command, "--template-folder", options.template_folders,
             "Folder with the rows' templates, if they are not beside their configs (repeatable)",
             {.type = "FOLDER", .one_each = true});
  command.add_option("-o,--output", options.output, "Write here instead of to standard output");
  command.footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --format cuda --arch 90a,80 -o tuned\n"
      "  tiletune export --format cuda --arch 90a,80 -o tuned --check\n"
      "  tiletune export --format header -o tuned.h\n"
      "  nvcc $(tiletune export --format defines --problem 4096x4096x4096) kernel.cu\n"
      "  tiletune export --format header --db l40.db --namespace tuned::l40 -o tuned_l40.h\n"
      "  tiletune export --gpu H200 --source measured -o h200.json\n"
      "  tiletune export --format t4 --gpu H200 --problem 4096x4096x4096 --template sgemm_warptile -o "
      "results.T4.json");
}

void add_report_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto [command, flags] = add_command<ReportFlags>(
      app, action, "report", "Write recorded results as one HTML page with tables and charts", run);
  flags.command = &command;
  flags.command_line = command_line;
  flags.rows.add_to(command);
  add_option(command, "--limit", flags.limit, "Configurations per GPU and problem, fastest first; 0: all",
             {.check = whole_number(), .shows_default = true});
  command.add_option("-o,--output", flags.output, "The page; -: standard output")->capture_default_str();
  command.footer(
      "The page needs a browser and no network.\nExamples:\n  tiletune report\n"
      "  tiletune report --db results/tiletune.db --problem 4096x4096x4096 -o report.html");
}

}  // namespace tiletune
