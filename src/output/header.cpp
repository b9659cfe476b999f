#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/export.h"
#include "output/size_check.h"

namespace tiletune {

extern const std::string_view kBestHeader;  ///< best_header.h.in, which CMake embeds

namespace {

using Json = nlohmann::ordered_json;

/// Behind this line of kBestHeader stands what belongs to portfolios alone.
constexpr std::string_view kPortfoliosOnly = "// {portfolios only}\n";

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

/// The sizes that a problem's label lists, before its leading dimensions. None where there are more than an
/// operation has dimensions, as an untrusted database may say.
std::vector<std::string> size_words(const std::string& problem) {
  constexpr std::size_t kMostDimensions = 256;
  std::vector<std::string> sizes = split(problem.substr(0, problem.find(' ')), 'x');
  if (sizes.size() > kMostDimensions) sizes.clear();
  return sizes;
}

/// How many sizes each entry and query of a header has: those of the problem with the most, and at least
/// four, so that programs need not know which problems a header holds.
std::size_t sizes_of_each(const std::vector<Trial>& trials) {
  std::size_t most = 4;
  for (const Trial& trial : trials) most = std::max(most, size_words(trial.problem).size());
  return most;
}

/// "{4096LL, 4096LL, 4096LL, 0LL}": so many sizes, zero behind the last.
std::string sizes_text(const std::vector<std::int64_t>& sizes, std::size_t count) {
  std::vector<std::string> numbers;
  for (const std::int64_t size : sizes) numbers.push_back(fmt::format("{}LL", size));
  numbers.resize(count, "0LL");
  return "{" + join(numbers, ", ") + "}";
}

/// None where the problem's label is not a list of sizes.
std::vector<std::int64_t> sizes_of(const std::string& problem) {
  std::vector<std::int64_t> sizes;
  for (const std::string& word : size_words(problem)) {
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, sizes.emplace_back(0));
    if (error != std::errc() || rest != end || sizes.back() <= 0) return {};
  }
  return sizes;
}

/// 90 of "sm_90a"; 0 for anything else.
int compute_capability(const std::string& architecture) {
  constexpr std::string_view kPrefix = "sm_";
  if (!architecture.starts_with(kPrefix)) return 0;
  int number = 0;
  std::from_chars(architecture.data() + kPrefix.size(), architecture.data() + architecture.size(), number);
  return number;
}

/// What a launch takes; 0 for numbers that it cannot, which an untrusted database may have.
unsigned launch_number(std::int64_t number) {
  const bool fits = number > 0 && number <= std::numeric_limits<unsigned>::max();
  return fits ? static_cast<unsigned>(number) : 0;
}

std::string extent_text(const Json& launch, const char* name) {
  const Json extent = launch.value(name, Json());
  std::array<unsigned, 3> numbers{};
  for (std::size_t i = 0; extent.is_array() && i < std::min(numbers.size(), extent.size()); ++i)
    if (extent[i].is_number_integer()) numbers.at(i) = launch_number(extent[i].get<std::int64_t>());
  return fmt::format("{{{}, {}, {}}}", numbers[0], numbers[1], numbers[2]);
}

Json object_in(const std::string& text) {
  Json json = parsed_cell(text);
  return json.is_object() ? json : Json::object();
}

/// The names of the sizes that a problem's label lists; leading dimensions stand behind them.
std::vector<std::string> dimension_names(const Trial& trial) {
  std::vector<std::string> names;
  const Json dimensions = object_in(trial.dimensions);
  const std::size_t count = size_words(trial.problem).size();
  for (const auto& [name, size] : dimensions.items())
    if (names.size() < count) names.push_back(name);
  return names;
}

/// The content with its guard and namespaces, which carry its hash: two headers in one program would
/// otherwise define the same things differently, of which linkers keep either without a word.
std::string in_frame(const std::string& content, const std::string& name_space) {
  const std::string hash = fmt::format("{:016x}", checksum64(name_space + '\n' + content));
  return fmt::format(
      "// The best configurations, written by tiletune {0}. C++17, no dependencies.\n"
      "#ifndef TILETUNE_BEST_{1}\n#define TILETUNE_BEST_{1}\n\n"
      "namespace {2} {{\ninline namespace content_{1} {{\n\n{3}\n"
      "}}  // namespace content_{1}\n}}  // namespace {2}\n\n#endif  // TILETUNE_BEST_{1}\n",
      kVersion, hash, name_space, content);
}

}  // namespace

std::string cpp_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstPrintable = 0x20;
    constexpr unsigned char kLastPrintable = 0x7E;
    if (c == '"' || c == '\\' || c == '?') {  // ? is escaped for the sake of trigraphs
      literal += std::string("\\") + c;
    } else if (byte >= kFirstPrintable && byte <= kLastPrintable) {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", byte);
    }
  }
  return literal + "\"";
}

void check_header_namespace(const std::string& text) {
  constexpr std::string_view kSeparator = "::";
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(kSeparator, begin);
    const std::string name = text.substr(begin, end - begin);
    if (!is_identifier(name) || kKeywords.find(" " + name + " ") != std::string_view::npos) {
      throw UserError(fmt::format("'{}' is not a namespace of C++", text), Where{"--namespace", ""},
                      "Use letters, digits and underscores, such as tuned or tuned::sizes.");
    }
    if (end == std::string::npos) return;
    begin = end + kSeparator.size();
  }
}

namespace {

/// The table of a header and what it refers to.
class Entries {
 public:
  explicit Entries(std::size_t sizes) : sizes_(sizes) {}

  /// False, with a reason, for what no entry describes.
  bool add(const Trial& trial) {
    const Json launch = object_in(trial.launch);
    if (launch.contains("launches") || launch.contains("steps")) {  // an entry has one grid and one block
      left_out_.push_back(fmt::format(
          "the best configuration of {} at {} {}, and an entry describes one", trial.template_name,
          trial.problem,
          launch.contains("steps") ? "launches kernels on several GPUs" : "launches several kernels"));
      return false;
    }
    const Json values = object_in(trial.parameters);
    std::vector<std::string> parameters;
    for (const auto& [name, value] : values.items())
      parameters.push_back(fmt::format("{{{}, {}}}", cpp_literal(name), cpp_literal(value_text(value))));
    if (!parameters.empty())
      parameters_ += fmt::format("inline constexpr Parameter kParameters{}[] = {{{}}};\n", count_,
                                 join(parameters, ", "));
    add_entry(trial, launch, parameters.size());
    ++count_;
    return true;
  }

  std::size_t count() const { return count_; }

  /// Throws UserError where there is nothing but what was left out, which `note` hears of otherwise.
  void tell_left_out(const std::function<void(const std::string&)>& note) const {
    if (count_ == 0 && !left_out_.empty())
      throw UserError(left_out_.front(), "Export it as JSON (--best), which has all of its kernels.");
    for (const std::string& text : left_out_)
      if (note) note(text + ": it is not in the header. 'tiletune export --best' writes all of its kernels.");
  }

  std::vector<Replacement> replacements() const {
    return {{"/*sizes*/ 4", std::to_string(sizes_)},
            {"// {checks}\n", checks_},
            {"// {parameters}\n", parameters_},
            {"// {entries}\n", entries_}};
  }

 private:
  void add_entry(const Trial& trial, const Json& launch, std::size_t parameters) {
    const std::vector<std::string> scalars = split(trial.scalars, ' ');
    const bool beta_is_zero = std::ranges::find(scalars, "beta=0") != scalars.end();
    std::string text = "    {";
    for (const std::string* field : {&trial.gpu, &trial.gpu_uuid}) text += cpp_literal(*field) + ", ";
    text += fmt::format("{}, ", compute_capability(trial.architecture));
    for (const std::string* field : {&trial.operation, &trial.options, &trial.element_types, &trial.scalars})
      text += cpp_literal(*field) + ", ";
    text += fmt::format("{}, {}, {}, {},\n     ", beta_is_zero, cpp_literal(trial.cache),
                        cpp_literal(std::string(name(trial.source))), is_unverified(trial));
    text += fmt::format("{}, {}, {},\n     ", cpp_literal(trial.problem),
                        sizes_text(sizes_of(trial.problem), sizes_),
                        trial.problem.find(' ') == std::string::npos);
    for (const std::string* field : {&trial.template_name, &trial.kernel_expression, &trial.compile_options})
      text += cpp_literal(*field) + ",\n     ";
    text += parameters == 0 ? "nullptr, 0, " : fmt::format("kParameters{}, {}, ", count_, parameters);
    std::vector<std::string> conditions;
    const std::string check = add_check(trial, conditions);
    entries_ +=
        text + fmt::format("{}, {}, {}U, {:.9g},\n     {}, {}}},\n", extent_text(launch, "grid"),
                           extent_text(launch, "block"),
                           launch_number(trial.dynamic_shared_bytes.value_or(0)),
                           ranking_time_us(trial).value_or(0), cpp_literal(join(conditions, "; ")), check);
  }

  /// The function that checks what must hold of other sizes than an entry's; each is written once. "nullptr"
  /// where nothing is known of it.
  std::string add_check(const Trial& trial, std::vector<std::string>& conditions) {
    const Json list = parsed_cell(trial.size_conditions);
    if (!list.is_array()) return "nullptr";
    const std::vector<std::string> names = dimension_names(trial);
    std::vector<std::string> known;
    bool all_known = !names.empty();
    for (const Json& condition : list) {
      const std::string text = condition.is_string() ? condition.get<std::string>() : "";
      if (holds_always(text, names)) continue;
      if (!text.empty()) conditions.push_back(text);
      const auto cpp = cpp_number(text, names);
      if (cpp) known.push_back(fmt::format("holds({})", *cpp));
      all_known = all_known && cpp.has_value();
    }
    if (!all_known && known.empty()) return "nullptr";
    std::string body = all_known ? "Constraints::hold" : "Constraints::not_known";
    if (!known.empty()) body = join(known, " &&\n         ") + " ? " + body + " : Constraints::refused";
    const auto [found, is_new] =
        check_names_.try_emplace(body, fmt::format("constraints{}", check_names_.size()));
    if (is_new)
      checks_ +=
          fmt::format("constexpr Constraints {}([[maybe_unused]] const long long* n) {{\n  return {};\n}}\n",
                      found->second, body);
    return "detail::" + found->second;
  }

  std::size_t sizes_;
  std::size_t count_ = 0;
  std::map<std::string, std::string> check_names_;  ///< by what they return
  std::string checks_;
  std::string parameters_;
  std::string entries_;
  std::vector<std::string> left_out_;
};

/// What choose() reads of portfolios: the kernels' times on other sizes, and which is the fastest on those
/// that were tuned.
class ChoiceTables {
 public:
  explicit ChoiceTables(std::size_t sizes) : sizes_(sizes) {}

  /// `places`: of each kernel, that of its entry; none for one that is not in the header.
  void add(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels,
           const std::vector<std::optional<std::size_t>>& places) {
    const std::size_t first = times_.size();
    const std::size_t first_tuned = tuned_.size();
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i]) add_time(recorded.portfolio.models[i], kernels[i]);
    for (const FastestKernelOn& fastest : fastest_kernels(recorded)) {
      if (!places[fastest.kernel]) continue;
      tuned_.push_back(
          fmt::format("    {{{}, {}}},\n", sizes_text(fastest.sizes, sizes_), *places[fastest.kernel]));
    }
    portfolios_ += fmt::format("    {{{}, {}, {}, {}}},\n", first, times_.size(), first_tuned, tuned_.size());
  }

  std::vector<Replacement> replacements() const {
    // No portfolio refers to the last one: it is there because an array has at least one element.
    const std::string none = fmt::format("    {{{}, 0}},\n", sizes_text({}, sizes_));
    return {{"// {times}\n", functions_},
            {"// {time of each entry}\n", join(times_, "")},
            {"// {tuned}\n", join(tuned_, "") + none},
            {"// {portfolios}\n", portfolios_},
            {kPortfoliosOnly, ""}};
  }

 private:
  /// "nullptr" where nothing predicts it, or not in C++; else a function that computes
  /// "2.1 + 0.31 * waves[0] + 0.00024 * waves[0] * size(n[2])".
  void add_time(const TimeModel& model, const Trial& kernel) {
    const std::vector<std::string> names = dimension_names(kernel);
    bool is_known = !model.terms().empty() && !names.empty();
    bool by_waves = false;
    std::vector<std::string> terms;
    for (const TimeModel::Term& term : model.terms()) {
      by_waves = by_waves || term.launch.has_value();
      std::string& text = terms.emplace_back(fmt::format("{:.17g}", term.us));
      if (term.launch) text += fmt::format(" * waves[{}]", *term.launch);
      for (const std::size_t size : term.sizes) text += fmt::format(" * size(n[{}])", size);
    }
    std::vector<std::string> waves;
    for (const Json& expression : by_waves ? parsed_cell(kernel.waves) : Json()) {
      const auto cpp =
          expression.is_string() ? cpp_number(expression.get<std::string>(), names) : std::nullopt;
      is_known = is_known && cpp.has_value();
      waves.push_back(fmt::format("number({})", cpp.value_or("")));
    }
    if (!is_known) {
      times_.emplace_back("    nullptr,\n");
      return;
    }
    const std::string declaration = by_waves ? fmt::format("  const double waves[] = {{{}}};\n",
                                                           join(waves, ",\n                          "))
                                             : "";
    functions_ += fmt::format(
        "constexpr double time_us{}([[maybe_unused]] const long long* n) {{\n{}  return "
        "shorter_than_never({});\n}}\n",
        times_.size(), declaration, join(terms, " + "));
    times_.push_back(fmt::format("    detail::time_us{},\n", times_.size()));
  }

  std::size_t sizes_;
  std::string functions_;
  std::vector<std::string> times_;  ///< by entry
  std::vector<std::string> tuned_;
  std::string portfolios_;
};

}  // namespace

std::string best_as_header(const std::vector<RankingGroup>& groups, const Database& database,
                           const std::string& name_space,
                           const std::function<void(const std::string&)>& note) {
  std::vector<Trial> trials;
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (!leaders.empty()) trials.push_back(database.row(leaders.front().id));
  }
  Entries entries(sizes_of_each(trials));
  for (const Trial& trial : trials) entries.add(trial);
  entries.tell_left_out(note);
  const std::string_view without_portfolios = kBestHeader.substr(0, kBestHeader.find(kPortfoliosOnly));
  return in_frame(replaced(without_portfolios, entries.replacements()), name_space);
}

std::string portfolios_as_header(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                                 const std::string& name_space,
                                 const std::function<void(const std::string&)>& note) {
  // choose() takes the first one that fits: what was measured goes before what was not, and newer rows before
  // older ones.
  const auto order = [](const RecordedPortfolio* recorded) {
    std::int64_t newest = 0;
    for (const std::size_t kernel : recorded->portfolio.kernels)
      newest = std::max(newest, recorded->group.table.kernels[kernel].row);
    return std::pair(recorded->group.what.source == Source::measured, newest);
  };
  std::vector<const RecordedPortfolio*> sorted;
  for (const RecordedPortfolio& recorded : portfolios) sorted.push_back(&recorded);
  std::ranges::stable_sort(sorted, std::greater<>(), order);
  std::vector<std::vector<Trial>> kernels;
  std::size_t sizes = 0;
  for (const RecordedPortfolio* recorded : sorted) {
    kernels.emplace_back();
    for (const std::size_t kernel : recorded->portfolio.kernels)
      kernels.back().push_back(database.row(recorded->group.table.kernels[kernel].row));
    sizes = std::max(sizes, sizes_of_each(kernels.back()));
  }
  Entries entries(sizes);
  ChoiceTables choices(sizes);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::vector<std::optional<std::size_t>> places;
    for (const Trial& kernel : kernels[i]) {
      const std::size_t place = entries.count();
      places.push_back(entries.add(kernel) ? std::optional(place) : std::nullopt);
    }
    choices.add(*sorted[i], kernels[i], places);
  }
  entries.tell_left_out(note);
  std::vector<Replacement> replacements = entries.replacements();
  for (Replacement& replacement : choices.replacements()) replacements.push_back(std::move(replacement));
  return in_frame(replaced(kBestHeader, replacements), name_space);
}

}  // namespace tiletune
