#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "deploy/deployment.h"
#include "output/cell_text.h"

namespace tiletune {

extern const std::string_view kValuesHeader, kPlanHeader, kPickHeader;  ///< *.h.in, which CMake embeds

namespace {

using Json = nlohmann::ordered_json;

/// They are those of C++20: a header may be included in newer programs than it asks for.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires return "
    "short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while "
    "xor xor_eq ";

/// What the headers themselves call things, and macros of compilers and of C's headers.
constexpr std::string_view kTaken =
    " detail std Value Device Plan Launch Argument Kernel Operation Status Needs On Code problem device "
    "numbers_ "
    "where_ buffers_ why_ linux unix i386 NULL INFINITY NAN EOF HUGE_VAL HUGE_VALF signbit isnan isinf "
    "isfinite "
    "stdin stdout stderr errno assert major minor makedev HOST_DEVICE ";

bool is_keyword(const std::string& name) {
  return kKeywords.find(" " + name + " ") != std::string_view::npos;
}

/// 90 of "90a"; 0 where there is none.
int compute_capability(const std::string& architecture) {
  int number = 0;
  std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  return number;
}

/// "constexpr int BM = 64;" and such of a parameter.
std::string constant_text(const std::string& name, const Value& value) {
  const std::string cpp_name = identifier_of(name);
  if (const auto* boolean = std::get_if<bool>(&value))
    return fmt::format("static constexpr bool {} = {};", cpp_name, *boolean);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const bool is_int = *integer >= INT32_MIN && *integer <= INT32_MAX;
    return fmt::format("static constexpr {} {} = {};", is_int ? "int" : "long long", cpp_name,
                       is_int ? std::to_string(*integer) : cpp_integer(*integer));
  }
  if (const auto* number = std::get_if<double>(&value))
    return fmt::format("static constexpr double {} = {:.17g};", cpp_name, *number);
  return fmt::format("static constexpr const char* {} = {};", cpp_name,
                     cpp_literal(std::get<std::string>(value)));
}

class HeaderWriter {
 public:
  explicit HeaderWriter(const Deployment& deployment) : deployment_(deployment) {}

  std::string text() {
    std::size_t arguments = 1;
    std::size_t launches = 1;
    std::size_t workspaces = 1;
    std::size_t constants = 1;
    for (const DeployedKernel& kernel : deployment_.kernels) {
      arguments = std::max(arguments, kernel.code.most_arguments);
      launches = std::max(launches, kernel.code.expressions.size());
      workspaces = std::max(workspaces, kernel.spec->workspace.size());
      constants = std::max(constants, kernel.spec->constants.size());
      add_kernel(kernel);
    }
    for (const DeployedOperation& operation : deployment_.operations) add_operation(operation);
    return fmt::format(
        "// As many as the kernels below have.\n"
        "inline constexpr int kMostLaunches = {}, kMostArguments = {}, kMostWorkspaces = {}, kMostConstants "
        "= {};\n\n"
        "{}\n{}\nnamespace detail {{\n\n{}\n}}  // namespace detail\n\n{}\n"
        "inline constexpr Kernel kKernels[] = {{\n{}}};\ninline constexpr int kKernelCount = {};\n\n"
        "{}\nnamespace detail {{\n\n{}\n}}  // namespace detail\n\n{}",
        launches, arguments, workspaces, constants, kValuesHeader, kPlanHeader, plans_, constants_, kernels_,
        deployment_.kernels.size(), kPickHeader, tables_, functions_);
  }

 private:
  void add_kernel(const DeployedKernel& kernel) {
    const std::string name = kernel.source == nullptr ? kernel.row.template_name : kernel.name();
    plans_ += fmt::format("// {}\ninline void plan{}([[maybe_unused]] const Value* n, Plan& p) {{\n{}}}\n",
                          comment_text(name), count_, kernel.code.statements);
    const auto list = [&](const char* what, const std::vector<std::string>& texts) {
      if (texts.empty()) return std::string("nullptr, 0");
      plans_ +=
          fmt::format("inline constexpr const char* {}{}[] = {{{}}};\n", what, count_, cpp_literals(texts));
      return fmt::format("detail::{}{}, {}", what, count_, texts.size());
    };
    const std::string expressions = list("expressions", kernel.code.expressions);
    const std::string options = list("options", kernel.options);
    const bool is_library = kernel.source == nullptr;
    const std::string folders =
        list("folders", is_library ? std::vector<std::string>() : kernel.source->include_folders());
    std::string copies = "nullptr, 0";
    if (const auto& constants = kernel.spec->constants; !constants.empty() && !is_library) {
      std::vector<std::string> all;
      for (const ConstantMemory& constant : constants) {
        const auto& buffers = kernel.spec->operation.buffers;
        const auto buffer = std::ranges::find(buffers, constant.buffer, &Buffer::name);
        all.push_back(fmt::format("{{{}, {}}}", cpp_literal(constant.symbol), buffer - buffers.begin()));
      }
      plans_ +=
          fmt::format("inline constexpr ConstantCopy constants{}[] = {{{}}};\n", count_, join(all, ", "));
      copies = fmt::format("detail::constants{}, {}", count_, all.size());
    }
    std::string constants;
    for (const auto& [parameter, value] :
         is_library ? NamedValues() : kernel.configuration.named(*kernel.spec))
      constants += "  " + constant_text(parameter, value) + "\n";
    constants_ +=
        fmt::format("// {}\nstruct {}_{} {{\n  static constexpr int number_in_kKernels = {};\n{}}};\n",
                    comment_text(name), identifier_of(kernel.row.template_name), count_, count_, constants);
    kernels_ += fmt::format("    {{{}, {}, {}, {},\n     {}, {}, {}, {}, detail::plan{}}},\n", count_,
                            is_library, cpp_literal(name),
                            cpp_literal(is_library ? "" : kernel.source->path(kernel.source->text.name)),
                            expressions, options, folders, copies, count_);
    ++count_;
  }

  void add_operation(const DeployedOperation& operation) {
    const Operation& what = operation.spec->operation;
    std::string sections;
    for (std::size_t i = 0; i < operation.sections.size(); ++i)
      sections += add_section(operation, operation.sections[i], fmt::format("{}_{}", operation.name, i + 1));
    tables_ += fmt::format("inline constexpr Section {}_sections[] = {{\n{}}};\n", operation.name, sections);
    tables_ +=
        fmt::format("inline void {}_elements([[maybe_unused]] const Value* n, Value* elements) {{\n{}}}\n",
                    operation.name, elements_code(*operation.spec, operation.problem));
    functions_ += fmt::format(
        "inline constexpr Operation {0}_operation = {{\"{0}\", {1}, {2}, {3}, {4}, "
        "detail::{0}_elements, detail::{0}_sections, {5}}};\n",
        operation.name, what.dimensions.size(), what.leading_dimensions.size(), what.scalars.size(),
        what.buffers.size(), operation.sections.size());
    add_functions(operation.name, what);
  }

  std::string add_section(const DeployedOperation& operation, const DeployedSection& section,
                          const std::string& name) {
    std::vector<std::string> scalars;
    for (const auto& [scalar, value] : operation.spec->operation.scalars)
      scalars.push_back(fmt::format("{:.17g}", scalar_of(section.scalars, scalar, value)));
    if (!scalars.empty())
      tables_ += fmt::format("inline constexpr double {}_scalars[] = {{{}}};\n", name, join(scalars, ", "));
    std::string candidates;
    for (const DeployedCandidate& candidate : section.candidates)
      candidates += fmt::format("    {{&kKernels[{}], {}}},\n", candidate.kernel, time_function(candidate));
    std::string tuned;
    for (std::size_t i = 0; i < section.fastest.size(); ++i) {
      const FastestKernelOn& fastest = section.fastest[i];
      tables_ += fmt::format("inline constexpr long long {}_tuned_{}[] = {{{}}};\n", name, i,
                             fmt::join(fastest.sizes, ", "));
      tuned += fmt::format("    {{{}_tuned_{}, {}}},\n", name, i, fastest.kernel);
    }
    tables_ += fmt::format("inline constexpr Candidate {}_candidates[] = {{\n{}}};\n", name, candidates);
    if (!tuned.empty())
      tables_ += fmt::format("inline constexpr Tuned {}_tuned[] = {{\n{}}};\n", name, tuned);
    return fmt::format("    {{{}, {}, {}, {}_candidates, {}, {}, {}}},\n", cpp_literal(section.what.gpu),
                       compute_capability(architecture_of(section)),
                       scalars.empty() ? "nullptr" : name + "_scalars", name, section.candidates.size(),
                       tuned.empty() ? "nullptr" : name + "_tuned", section.fastest.size());
  }

  static double scalar_of(const std::string& scalars, const std::string& name, double otherwise) {
    for (const std::string& word : split(scalars, ' '))
      if (word.starts_with(name + "=")) {
        const double value = parsed_number<double>(word.substr(name.size() + 1)).value_or(otherwise);
        return std::isfinite(value) ? value : otherwise;
      }
    return otherwise;
  }

  /// "nullptr" where nothing predicts the time; else a function that computes
  /// "2.1 + 0.31 * waves[0] + 0.00024 * waves[0] * size(n[2])".
  std::string time_function(const DeployedCandidate& candidate) {
    bool by_waves = false;
    std::vector<std::string> terms;
    for (const TimeModel::Term& term : candidate.model.terms()) {
      by_waves = by_waves || term.launch.has_value();
      std::string& text = terms.emplace_back(fmt::format("{:.17g}", term.us));
      if (term.launch) text += fmt::format(" * waves[{}]", *term.launch);
      for (const std::size_t size : term.sizes) text += fmt::format(" * size(n[{}])", size);
    }
    if (terms.empty() || (by_waves && candidate.blocks_at_once.empty())) return "nullptr";
    const DeployedKernel& kernel = deployment_.kernels[candidate.kernel];
    std::string waves;
    if (by_waves)
      waves = waves_code(*kernel.spec, kernel.problem, kernel.configuration, candidate.blocks_at_once);
    tables_ +=
        fmt::format("inline double time_us{}([[maybe_unused]] const Value* n) {{\n{}  return {};\n}}\n",
                    times_, waves, join(terms, " + "));
    return fmt::format("time_us{}", times_++);
  }

  /// The struct of an operation's sizes, and the functions that take it.
  void add_functions(const std::string& name, const Operation& what) {
    std::string members = "  long long ";
    std::vector<std::string> values;
    std::vector<std::string> sizes;
    for (const std::string& dimension : what.dimensions) sizes.push_back(identifier_of(dimension));
    for (const std::string& size : sizes) values.push_back("problem." + size);
    members += join(sizes, ", ") + ";\n";
    std::string check;
    std::string leading_members;
    for (const LeadingDimension& leading : what.leading_dimensions) {
      const std::string own = identifier_of(leading.name);
      const std::string columns = identifier_of(leading.columns);
      leading_members += fmt::format("  long long {} = 0;  // elements between rows of {}; 0: {}\n", own,
                                     leading.matrix, leading.columns);
      values.push_back(fmt::format("problem.{0} == 0 ? problem.{1} : problem.{0}", own, columns));
      check +=
          fmt::format("  if (problem.{0} != 0 && problem.{0} < problem.{1}) return \"{2} is below {3}\";\n",
                      own, columns, leading.name, leading.columns);
    }
    for (const auto& [scalar, value] : what.scalars) {
      members += fmt::format("  double {} = {:.17g};\n", identifier_of(scalar), value);
      values.push_back("problem." + identifier_of(scalar));
    }
    functions_ += fmt::format(
        R"(
struct {0}_problem {{
{1}{2}}};
namespace detail {{
// Why there is no such problem; null: there is.
inline const char* fill(const {0}_problem& problem, const Device& device, Value* n) {{
  const Value values[] = {{{3}, 1LL * device.multiprocessors}};
  for (const Value& value : values) *n++ = value;
{4}  return nullptr;
}}
}}  // namespace detail
// The best kernel for the problem that `accept(kernel, plan)` takes, with its plan.
template <class Accept>
Picked choose(const {0}_problem& problem, const Device& device, Plan& plan, Accept&& accept) {{
  detail::Value n[{5}];
  if (const char* const why = detail::fill(problem, device, n)) return {{nullptr, GpuMatch::nearest, why}};
  return pick({0}_operation, device, n, plan, accept);
}}
inline Picked choose(const {0}_problem& problem, const Device& device, Plan& plan) {{
  return choose(problem, device, plan, [](const Kernel&, const Plan&) {{ return true; }});
}}
// Whether a kernel can run the problem; plan.refused says why not.
inline bool allows(const Kernel& kernel, const {0}_problem& problem, const Device& device, Plan& plan) {{
  detail::Value n[{5}];
  plan.reset(device);
  plan.refused = detail::fill(problem, device, n);
  if (plan.refused == nullptr) kernel.plan(n, plan);
  return plan.refused == nullptr;
}}
)",
        name, members, leading_members, join(values, ", "), check, values.size() + 1);
  }

  const Deployment& deployment_;
  std::size_t count_ = 0;
  std::size_t times_ = 0;
  std::string plans_, constants_, kernels_, tables_, functions_;
};

/// The content in namespaces, which carry its hash: two headers in one program would otherwise define the
/// same things differently, of which linkers keep either without a word.
std::string in_frame(const std::string& content, const std::string& name_space) {
  const std::string hash = fmt::format("{:016x}", checksum64(name_space + '\n' + content));
  return fmt::format(
      "// Tuned kernels: which to launch for what sizes, and how. Written by tiletune {0}. C++17, no "
      "dependencies.\n"
      "#ifndef TILETUNE_KERNELS_{1}\n#define TILETUNE_KERNELS_{1}\n\n#include <cmath>\n#include "
      "<initializer_list>\n\n"
      "namespace {2} {{\ninline namespace content_{1} {{\n\n{3}\n"
      "}}  // namespace content_{1}\n}}  // namespace {2}\n\n#endif  // TILETUNE_KERNELS_{1}\n",
      kVersion, hash, name_space, content);
}

}  // namespace

std::string identifier_of(const std::string& name) {
  const bool is_taken = is_keyword(name) || kTaken.find(" " + name + " ") != std::string_view::npos;
  std::string text = is_taken || name.empty() ? name + "_" : name;
  std::ranges::replace_if(
      text, [](char c) { return !is_identifier_part(c); }, '_');
  return is_identifier(text) ? text : "_" + text;
}

std::string macro_of(const std::string& name_space) {
  std::string name = std::regex_replace(name_space, std::regex("::"), "_");
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

void check_header_namespace(const std::string& text) {
  constexpr std::string_view kSeparator = "::";
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(kSeparator, begin);
    const std::string name = text.substr(begin, end - begin);
    if (!is_identifier(name) || is_keyword(name)) {
      throw UserError(fmt::format("'{}' is not a namespace of C++", text), Where{"--namespace", ""},
                      "Use letters, digits and underscores, such as tuned or tuned::sizes.");
    }
    if (end == std::string::npos) return;
    begin = end + kSeparator.size();
  }
}

std::string kernels_header(const Deployment& deployment, const std::string& name_space) {
  return in_frame(HeaderWriter(deployment).text(), name_space);
}

}  // namespace tiletune
