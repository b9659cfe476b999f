#include "spec/problem.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/load.h"

namespace tiletune {

namespace {

/// Doubles hold all integers up to it.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 53;

/// By its digits, of which there may be any number.
bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t parse_size(const std::string& text, const std::string& problem, const std::string& dimension,
                        const Where& where) {
  if (!is_integer(text) || text.front() == '-') {
    throw UserError(fmt::format("'{}' in the problem '{}' is not a size", text, problem), where,
                    "Write sizes as integers with an x between them: 4096x4096x64.");
  }
  const auto size = parsed_number<std::int64_t>(text);
  if (size && *size >= 1 && *size <= kLargestSize) return *size;
  throw UserError(fmt::format("{} = {} is out of range", dimension, text), where,
                  fmt::format("Use sizes from 1 to {}.", kLargestSize));
}

Problem uniform_problem(std::int64_t size, const std::vector<std::string>& dimensions) {
  Problem problem;
  for (const auto& dimension : dimensions) problem.dimensions.emplace_back(dimension, size);
  return problem;
}

/// Only what differs from the default is kept: a problem has one label, however it was written.
void set_leading(Problem& problem, const LeadingDimension& leading, std::int64_t elements,
                 const Where& where) {
  const std::int64_t row = problem.at(leading.columns);
  if (elements < row) {
    throw UserError(fmt::format("{} = {} is less than the {} elements of a row of {}", leading.name, elements,
                                row, leading.matrix),
                    where, fmt::format("Use at least {} = {}, or leave it out.", leading.columns, row));
  }
  if (elements > row) problem.leading.emplace_back(leading.name, elements);
}

Problem read_named_problem(const JsonNode& node, const TemplateSpec& kernel,
                           const std::vector<std::string>& settings) {
  std::vector<std::string_view> known(kernel.operation.dimensions.begin(), kernel.operation.dimensions.end());
  known.insert(known.end(), settings.begin(), settings.end());
  for (const auto& leading : kernel.operation.leading_dimensions) known.emplace_back(leading.name);
  ObjectReader reader(node, known);
  Problem problem;
  for (const auto& dimension : kernel.operation.dimensions) {
    const JsonNode size = reader.need(dimension, fmt::format("an integer from 1 to {}", kLargestSize));
    problem.dimensions.emplace_back(dimension, read_integer(size, 1, kLargestSize));
  }
  for (const auto& leading : kernel.operation.leading_dimensions) {
    const auto elements = reader.find(leading.name);
    if (elements) set_leading(problem, leading, read_integer(*elements, 1, kLargestSize), elements->where);
  }
  for (const std::string& name : settings) reader.find(name);
  reader.finish();
  return problem;
}

Problem parse_sizes(const std::string& sizes, const std::string& text,
                    const std::vector<std::string>& dimensions, const Where& where) {
  const auto parts = split(sizes, 'x');
  if (parts.size() == 1)
    return uniform_problem(parse_size(sizes, text, join(dimensions, ", "), where), dimensions);
  if (parts.size() != dimensions.size()) {
    throw UserError(fmt::format("the problem '{}' has {} sizes, expected {} ({})", text, parts.size(),
                                dimensions.size(), join(dimensions, "x")),
                    where, "Give one size per dimension, or one size for all.");
  }
  Problem problem;
  for (std::size_t i = 0; i < parts.size(); ++i)
    problem.dimensions.emplace_back(dimensions[i], parse_size(parts[i], text, dimensions[i], where));
  return problem;
}

/// `text` is the problem that has it.
void add_named(Choices& named, const std::string& name, const std::string& value, const std::string& text,
               const Where& where) {
  const auto is_named = [&](const auto& entry) { return entry.first == name; };
  if (std::ranges::any_of(named, is_named)) {
    throw UserError(fmt::format("the problem '{}' has {} twice", text, name), where,
                    "Remove one of the two.");
  }
  named.emplace_back(name, value);
}

}  // namespace

std::string Problem::label() const {
  std::vector<std::string> sizes;
  sizes.reserve(dimensions.size());
  for (const auto& [dimension, size] : dimensions) sizes.push_back(std::to_string(size));
  std::string text = join(sizes, "x");
  for (const auto& [name, elements] : leading) text += fmt::format(" {}={}", name, elements);
  return text;
}

std::int64_t Problem::at(std::string_view dimension) const {
  for (const auto& [name, size] : dimensions)
    if (name == dimension) return size;
  throw std::out_of_range(fmt::format("the problem {} has no dimension '{}'", label(), dimension));
}

std::int64_t Problem::at(const LeadingDimension& leading_dimension) const {
  for (const auto& [name, elements] : leading)
    if (name == leading_dimension.name) return elements;
  return at(leading_dimension.columns);
}

std::vector<std::string> problem_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start != std::string::npos;) {
    const std::size_t end = text.find_first_of(", ", start);
    words.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(", ", end);
    if (end != std::string::npos && start == std::string::npos) words.emplace_back();
  }
  return words;
}

std::optional<std::vector<std::string>> written_sizes(const std::string& text) {
  const auto words = problem_words(text);
  std::vector<std::string> sizes = split(words.front(), 'x');
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const auto parts = split(*word, '=');
    if (parts.size() != 2 || !is_identifier(parts.front())) return std::nullopt;
    sizes.push_back(parts.back());
  }
  return std::ranges::all_of(sizes, is_integer) ? std::optional(sizes) : std::nullopt;
}

std::vector<std::string> setting_names(const Operation& operation) {
  auto names = names_of(operation.types, &std::pair<std::string, ElementType>::first);
  for (const auto& option : operation.options) names.push_back(option.first);
  return names;
}

Choices read_settings(const JsonNode& problem, const std::vector<std::string>& names) {
  const auto is_setting = [&](const std::string& name) { return is_among(name, names); };
  Choices settings;
  if (problem.json.get().is_object()) {
    for (const auto& [name, value] : read_members(problem, "an object"))
      if (is_setting(name)) settings.emplace_back(name, read_string(value, "a text"));
  } else if (problem.json.get().is_string()) {
    const std::string text = read_string(problem);
    for (const std::string& word : problem_words(text)) {
      const auto parts = split(word, '=');
      if (parts.size() == 2 && is_setting(parts.front()))
        add_named(settings, parts.front(), parts.back(), text, problem.where);
    }
  }
  return settings;
}

Problem parse_problem(const std::string& text, const TemplateSpec& kernel, const Where& where,
                      const std::vector<std::string>& settings) {
  std::vector<std::string> words = problem_words(text);
  Problem problem = parse_sizes(words.front(), text, kernel.operation.dimensions, where);
  words.erase(words.begin());
  auto known = names_of(kernel.operation.leading_dimensions, &LeadingDimension::name);
  known.insert(known.end(), settings.begin(), settings.end());
  Choices named;
  for (const std::string& word : words) {
    const auto parts = split(word, '=');
    if (parts.size() != 2 || !is_among(parts.front(), known)) {
      const bool is_size = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
      throw UserError(
          fmt::format("'{}' in the problem '{}' is not a leading dimension, type or option", word, text),
          where,
          is_size         ? "Write sizes with an x between them: 4096x4096."
          : known.empty() ? "Remove it: the operation has none."
                          : "Write NAME=VALUE behind the sizes." + suggestion(parts.front(), known));
    }
    add_named(named, parts.front(), parts.back(), text, where);
  }
  for (const LeadingDimension& leading : kernel.operation.leading_dimensions) {
    for (const auto& [name, elements] : named)
      if (name == leading.name) set_leading(problem, leading, parse_size(elements, text, name, where), where);
  }
  return problem;
}

Problem read_problem(const JsonNode& node, const TemplateSpec& kernel,
                     const std::vector<std::string>& settings) {
  const auto& json = node.json.get();
  if (json.is_number())
    return uniform_problem(read_integer(node, 1, kLargestSize), kernel.operation.dimensions);
  if (json.is_string()) return parse_problem(read_string(node), kernel, node.where, settings);
  if (json.is_object()) return read_named_problem(node, kernel, settings);
  const std::vector<std::string> example(kernel.operation.dimensions.size(), "1024");
  refuse_kind(node,
              fmt::format("a problem (a string like \"{}\", an integer, or an object)",
                          join(kernel.operation.dimensions, "x")),
              fmt::format("Write it as \"{}\".", join(example, "x")));
}

std::vector<Problem> parse_problems(const std::vector<std::string>& texts, const TemplateSpec& kernel,
                                    const Where& where) {
  std::vector<Problem> problems;
  std::set<std::string> labels;
  for (const auto& text : texts) {
    const Problem& problem = problems.emplace_back(parse_problem(text, kernel, where));
    if (!labels.insert(problem.label()).second)
      throw UserError(fmt::format("the problem {} is listed twice", problem.label()), where,
                      "Remove one of the two.");
  }
  return problems;
}

std::string problems_text(const std::vector<Problem>& problems) {
  constexpr std::size_t kMostNamed = 4;
  const auto labels = names_of(problems, &Problem::label);
  return labels.size() > kMostNamed ? counted(labels.size(), "problem") : join(labels, ", ");
}

namespace {

/// Texts by name, of which some may be missing.
using Combination = std::vector<std::pair<std::string, JsonNode>>;

void check_count(std::size_t count, const Where& where) {
  if (count <= kMostParts) return;
  throw UserError(fmt::format("more than {} combinations", kMostParts), where, "Name fewer.");
}

/// Lists the combinations of one object; the last name's texts vary fastest.
std::vector<Combination> combinations_of(const JsonNode& object) {
  std::vector<Combination> combinations{{}};
  for (const auto& [name, node] : read_members(object, "an object of texts or of lists of texts")) {
    std::vector<Combination> longer;
    const auto values = node.json.get().is_array() ? read_list(node, "texts") : std::vector{node};
    check_count(combinations.size() * values.size(), node.where);
    for (const Combination& combination : combinations) {
      for (const JsonNode& value : values) {
        longer.push_back(combination);
        longer.back().emplace_back(name, value);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

std::vector<Combination> read_combinations(const JsonNode& node) {
  if (!node.json.get().is_array()) return combinations_of(node);
  std::vector<Combination> all;
  for (const JsonNode& object : read_list(node, "objects")) {
    for (Combination& combination : combinations_of(object)) all.push_back(std::move(combination));
    check_count(all.size(), node.where);
  }
  return all;
}

/// The number of the choice of that name. Refuses one that `owner` does not have.
std::size_t number_of(const std::string& name, const Choices& choices, const std::string& owner,
                      const std::string& what, const Where& where) {
  return find_known(name, names_of(choices, &Choices::value_type::first), where,
                    fmt::format("{} has no {} '{}'", owner, what, name));
}

/// Keeps the choices for which `offered` has more than one text.
Choices differing(const Choices& choices, const std::vector<Choices>& offered) {
  Choices found;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto differs = [&](const Choices& other) { return other[i] != offered.front()[i]; };
    if (std::ranges::any_of(offered, differs)) found.push_back(choices[i]);
  }
  return found;
}

}  // namespace

std::vector<Choices> read_offered(const std::optional<JsonNode>& node, const std::vector<Allowed>& choices,
                                  const std::string& what) {
  Choices defaults;
  for (const Allowed& choice : choices) defaults.emplace_back(choice.name, choice.values.front());
  if (!node) return {defaults};
  std::vector<Choices> offered;
  for (const Combination& combination : read_combinations(*node)) {
    Choices one = defaults;
    for (const auto& [name, value] : combination) {
      const std::size_t i = number_of(name, defaults, "the operation", what, value.where);
      one[i].second = choices[i].values[read_choice(value, choices[i].values)];
    }
    if (is_among(one, offered))
      throw UserError(fmt::format("{} is offered twice", choices_text(one)), node->where,
                      "Remove one of the two.");
    offered.push_back(std::move(one));
  }
  return offered;
}

std::vector<Choices> select_offered(const std::optional<JsonNode>& asked, const Choices& settings,
                                    const std::vector<Choices>& offered, const std::string& what,
                                    const std::string& template_name) {
  std::vector<Choices> selected;
  const std::vector<Combination> combinations =
      asked ? read_combinations(*asked) : std::vector<Combination>(1);
  for (const Combination& combination : combinations) {
    Choices wanted = settings;
    Where where = asked ? asked->where : Where{};
    for (const auto& [name, value] : combination) {
      where = value.where;
      number_of(name, offered.front(), "the template " + template_name, what, where);
      wanted.emplace_back(name, read_string(value, "a text"));
    }
    const auto has_all = [&](const Choices& one) {
      return std::ranges::all_of(wanted, [&](const auto& choice) { return is_among(choice, one); });
    };
    const auto found = std::ranges::find_if(offered, has_all);
    if (settings.empty() && found == offered.end()) {
      constexpr std::size_t kMostNamed = 8;
      std::vector<std::string> texts = names_of(offered, choices_text);
      const std::size_t more = texts.size() > kMostNamed ? texts.size() - kMostNamed : 0;
      texts.resize(texts.size() - more);
      throw UserError(fmt::format("the template {} does not offer {}", template_name, choices_text(wanted)),
                      where,
                      fmt::format("Choose one of: {}{}.", join(texts, "; "),
                                  more > 0 ? fmt::format("; and {} more in its manifest", more) : ""));
    }
    const bool is_new = found != offered.end() && !is_among(*found, selected);
    if (settings.empty() || is_new) selected.push_back(*found);
  }
  return selected;
}

std::string choices_text(const Choices& choices) {
  std::vector<std::string> words;
  for (const auto& [name, value] : choices) words.push_back(fmt::format("{}={}", name, value));
  return join(words, " ");
}

std::string variant_text(const Variant& variant, const Operation& offered) {
  Choices choices = differing(variant.types, offered.offered_types);
  for (auto& option : differing(variant.options, offered.offered_options)) choices.push_back(option);
  return choices_text(choices);
}

}  // namespace tiletune
