#include "compile/request.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/pool.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

enum class Takes { nothing, boolean, choice, number, numbers, macro, macro_name, assembler_option };
constexpr Takes kLastSaidOnce = Takes::number;

struct OptionRule {
  std::string_view name;
  std::string_view short_name;
  Takes takes = Takes::nothing;
  std::string_view choices = {};  ///< separated by commas
  int lowest = 0;
  int highest = 0;
};

/// NVRTC options that change code or diagnostics and touch no file.
constexpr OptionRule kCompilerOptions[] = {
    {"--use_fast_math", "-use_fast_math"},
    {"--fmad", "-fmad", Takes::boolean},
    {"--ftz", "-ftz", Takes::boolean},
    {"--prec-div", "-prec-div", Takes::boolean},
    {"--prec-sqrt", "-prec-sqrt", Takes::boolean},
    {"--extra-device-vectorization", "-extra-device-vectorization"},
    {"--restrict", "-restrict"},
    {"--maxrregcount", "-maxrregcount", Takes::number, {}, 1, 255},
    {"--split-compile", "-split-compile", Takes::number, {}, 0, 64},
    {"--jump-table-density", "-jtd", Takes::number, {}, 0, 101},
    {"--dopt", "-dopt", Takes::choice, "on"},
    {"--Ofast-compile", "-Ofc", Takes::choice, "0,min,mid,max"},
    {"--std", "-std", Takes::choice, "c++14,c++17,c++20"},
    {"--generate-line-info", "-lineinfo"},
    {"--device-debug", "-G"},
    {"--device-int128", "-device-int128"},
    {"--disable-warnings", "-w"},
    {"--diag-suppress", "-diag-suppress", Takes::numbers},
    {"--define-macro", "-D", Takes::macro},
    {"--undefine-macro", "-U", Takes::macro_name},
    {"--ptxas-options", "-Xptxas", Takes::assembler_option},
};

constexpr std::string_view kLoads = "ca,cg,cs,lu,cv", kStores = "wb,cg,cs,wt";

/// Options of ptxas, the assembler that --ptxas-options reaches, which change no more than that.
constexpr OptionRule kAssemblerOptions[] = {
    {"--verbose", "-v"},
    {"--opt-level", "-O", Takes::number, {}, 0, 3},
    {"--def-load-cache", "-dlcm", Takes::choice, kLoads},
    {"--def-store-cache", "-dscm", Takes::choice, kStores},
    {"--force-load-cache", "-flcm", Takes::choice, kLoads},
    {"--force-store-cache", "-fscm", Takes::choice, kStores},
    {"--allow-expensive-optimizations", "-allow-expensive-optimizations", Takes::boolean},
    {"--register-usage-level", "-register-usage-level", Takes::number, {}, 0, 10},
    {"--disable-optimizer-constants", "-disable-optimizer-consts"},
    {"--warn-on-spills", "-warn-spills"},
    {"--warn-on-local-memory-usage", "-warn-lmem-usage"},
    {"--warn-on-double-precision-use", "-warn-double-usage"},
};

struct ParsedOption {
  const OptionRule* rule;
  std::optional<std::string> value;
};

std::optional<ParsedOption> parse(const std::string& option, std::span<const OptionRule> rules) {
  const std::size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  for (const OptionRule& rule : rules) {
    if (name == rule.name || name == rule.short_name) {
      if (equals == std::string::npos) return ParsedOption{&rule, std::nullopt};
      return ParsedOption{&rule, option.substr(equals + 1)};
    }
  }
  for (const OptionRule& rule : rules) {
    // -D, -U and -O take their value without a sign between.
    const bool is_short = rule.takes != Takes::nothing && rule.short_name.size() == 2;
    if (is_short && option.starts_with(rule.short_name)) return ParsedOption{&rule, option.substr(2)};
  }
  return std::nullopt;
}

bool is_number(std::string_view text, int lowest, int highest) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= lowest && number <= highest;
}

std::string expectation(const OptionRule& rule) {
  switch (rule.takes) {
    case Takes::nothing:
      return "no value";
    case Takes::boolean:
      return "true or false";
    case Takes::choice:
      return join(split(rule.choices, ','), ", ");
    case Takes::number:
      return fmt::format("an integer from {} to {}", rule.lowest, rule.highest);
    case Takes::numbers:
      return "numbers of diagnostics, separated by commas";
    case Takes::macro:
      return "NAME or NAME=VALUE, on one line";
    case Takes::macro_name:
      return "a macro's name";
    case Takes::assembler_option:
      return "one option of ptxas";
  }
  return "";
}

bool accepts(const OptionRule& rule, const std::optional<std::string>& value) {
  if (!value) return rule.takes == Takes::nothing;
  switch (rule.takes) {
    case Takes::nothing:
      return false;
    case Takes::boolean:
      return *value == "true" || *value == "false";
    case Takes::choice:
      return is_among(*value, split(rule.choices, ','));
    case Takes::number:
      return is_number(*value, rule.lowest, rule.highest);
    case Takes::numbers:
      return std::ranges::all_of(split(*value, ','), [](const std::string& number) {
        constexpr int kHighestDiagnostic = 99999;
        return is_number(number, 1, kHighestDiagnostic);
      });
    case Takes::macro:
      return is_identifier(std::string_view(*value).substr(0, value->find('='))) &&
             value->find('\n') == std::string::npos;
    case Takes::macro_name:
      return is_identifier(*value);
    case Takes::assembler_option:
      return !value->empty();
  }
  return false;
}

void check_option(const std::string& option, std::span<const OptionRule> rules, std::string_view whose,
                  const Where& where) {
  const auto parsed = parse(option, rules);
  if (!parsed) {
    std::vector<std::string> names;
    for (const OptionRule& rule : rules) {
      names.emplace_back(rule.name);
      if (rule.short_name != rule.name.substr(1)) names.emplace_back(rule.short_name);
    }
    const std::string near = suggestion(option.substr(0, option.find('=')), names);
    throw UserError(fmt::format("'{}' is not a {} option that may be given here", option, whose), where,
                    std::string(trim(near)) + " The architecture, folders and files are tiletune's to set.");
  }
  if (!accepts(*parsed->rule, parsed->value))
    throw UserError(fmt::format("the {} option '{}' has a wrong or missing value", whose, option), where,
                    fmt::format("{} takes {}.", parsed->rule->name, expectation(*parsed->rule)));
  if (parsed->rule->takes == Takes::assembler_option)
    check_option(*parsed->value, kAssemblerOptions, "ptxas", where);
}

/// What an option is about, when saying it twice makes no sense.
std::optional<std::string_view> subject(const std::string& option) {
  const auto parsed = parse(option, kCompilerOptions);
  if (!parsed || parsed->rule->takes > kLastSaidOnce) return std::nullopt;
  return parsed->rule->name;
}

using Json = nlohmann::ordered_json;

/// Asks for a binary. A kernel's folders are numbers: the worker has inherited them open.
struct CompileJob {
  CompileRequest request;
  std::vector<std::pair<std::string, std::uint64_t>> roots;  ///< name, place in the worker's folders

  static constexpr std::string_view kMessage = "compile";
  static constexpr auto fields() { return fields_of<&CompileJob::request, &CompileJob::roots>(); }
};

}  // namespace

void append_options(std::vector<std::string>& options, const std::vector<std::string>& more) {
  for (const std::string& option : more) {
    if (option.empty()) continue;
    // What the assembler prints stands in the log where its errors would.
    const auto parsed = parse(option, kCompilerOptions);
    if (parsed && parsed->rule->takes == Takes::assembler_option &&
        (parsed->value == "-v" || parsed->value == "--verbose"))
      continue;
    if (const auto about = subject(option))
      std::erase_if(options, [&](const std::string& earlier) { return subject(earlier) == about; });
    options.push_back(option);
  }
}

void check_compile_option(const std::string& option, const Where& where) {
  check_option(option, kCompilerOptions, "compiler", where);
}

bool is_assembler_option(const std::string& option) {
  const auto parsed = parse(option, kCompilerOptions);
  return parsed && (parsed->rule->name == "--maxrregcount" || parsed->rule->takes == Takes::assembler_option);
}

void check_compile_options(const std::vector<std::string>& options, const Where& where) {
  for (std::size_t i = 0; i < options.size(); ++i) check_compile_option(options[i], where.at(i));
}

std::string CompileRequest::key() const {
  static const std::string headers = [] {
    Hasher hasher;
    for (const NamedHeader& header : standard_headers()) hasher.add(header.name).add(header.text);
    return hasher.hex();
  }();
  Hasher hasher;
  hasher.add("cubin 4").add(nvrtc_version()).add(headers).add(source.hash());
  if (is_ptx(source.name)) hasher.add(nvjitlink_version());
  for (const std::string& expression : kernel_expressions) hasher.add(expression);
  for (const std::string& option : options) hasher.add(option);
  return hasher.hex();
}

std::string architecture_for(int major, int minor) {
  // The architecture-specific code ("a") of compute capability 9.0 and later runs on exactly that capability
  // and may use all its instructions, such as wgmma.
  constexpr int kFirstWithSpecific = 90;
  const int wanted = 10 * major + minor;
  const std::vector<int>& supported = supported_architectures();
  if (std::find(supported.begin(), supported.end(), wanted) == supported.end()) {
    std::vector<std::string> known;
    known.reserve(supported.size());
    for (const int one : supported) known.push_back(fmt::format("{}.{}", one / 10, one % 10));
    throw UserError(fmt::format("NVRTC {} cannot generate code for compute capability {}.{}", nvrtc_version(),
                                major, minor),
                    fmt::format("It knows {}. Build tiletune with a CUDA toolkit that supports this GPU.",
                                join(known, ", ")));
  }
  return fmt::format("sm_{}{}", wanted, wanted >= kFirstWithSpecific ? "a" : "");
}

CompileRequest make_compile_request(const CompilePolicy& policy, const KernelSource& source,
                                    const Instance& instance, const std::string& architecture) {
  CompileRequest request;
  request.source = source;
  for (const KernelLaunch& launch : instance.launches)
    request.kernel_expressions.push_back(launch.kernel_expression);
  request.options = {"--gpu-architecture=" + architecture};
  if (!instance.compiled_file.empty()) {
    request.source.name = instance.compiled_file;
    std::vector<std::string> options;
    append_options(options, instance.compile_options);
    append_options(options, policy.options);
    std::copy_if(options.begin(), options.end(), std::back_inserter(request.options),
                 [&](const std::string& option) {
                   return is_ptx(request.source.name) && is_assembler_option(option);
                 });
    return request;
  }
  append_options(request.options,
                 {"--std=c++17", "--device-as-default-execution-space",
                  "--modify-stack-limit=false"});  // which would change the limit of the whole process
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

Json ready_message() { return {{"type", "ready"}}; }

bool is_ready_message(const Json& message) { return message == ready_message(); }

Json compile_job(const CompileRequest& request, const Folders& folders) {
  CompileJob job{request, {}};
  for (const KernelSource::Root& root : request.source.roots) {
    const auto is_it = [&](const auto& folder) { return folder->path() == root.folder->path(); };
    const auto place = std::find_if(folders.begin(), folders.end(), is_it);
    if (place == folders.end()) throw std::logic_error("a kernel's folder was not given to the workers");
    job.roots.emplace_back(root.name, place - folders.begin());
  }
  return to_json(job);
}

CompileRequest request_of_job(const Json& json, const Folders& folders) {
  auto job = from_json<CompileJob>(json);
  for (const auto& [name, number] : job.roots) {
    if (number >= folders.size()) throw ProtocolError("a compile request names a folder that does not exist");
    job.request.source.roots.push_back({name, folders[number]});
  }
  return std::move(job.request);
}

}  // namespace tiletune
