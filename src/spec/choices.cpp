#include "spec/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tiletune {

namespace {

/// Texts by name, of which some may be missing.
using Combination = std::vector<std::pair<std::string, JsonNode>>;

std::vector<JsonNode> one_or_more(const JsonNode& node) {
  return node.json.get().is_array() ? read_list(node, "texts") : std::vector{node};
}

void check_count(std::size_t count, const Where& where) {
  if (count <= kMostParts) return;
  throw UserError(fmt::format("more than {} combinations", kMostParts), where, "Name fewer.");
}

/// Lists the combinations of one object; the last name's texts vary fastest.
std::vector<Combination> combinations_of(const JsonNode& object) {
  std::vector<Combination> combinations{{}};
  for (const auto& [name, node] : read_members(object, "an object of texts or of lists of texts")) {
    std::vector<Combination> longer;
    const auto values = one_or_more(node);
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

[[noreturn]] void refuse(const Choices& wanted, const std::vector<Choices>& offered,
                         const std::string& template_name, const Where& where) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> texts;
  for (const Choices& choices : offered) texts.push_back(choices_text(choices));
  const std::size_t more = texts.size() > kMostNamed ? texts.size() - kMostNamed : 0;
  texts.resize(texts.size() - more);
  throw UserError(fmt::format("the template {} does not offer {}", template_name, choices_text(wanted)),
                  where,
                  fmt::format("Choose one of: {}{}.", join(texts, "; "),
                              more > 0 ? fmt::format("; and {} more in its manifest", more) : ""));
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
    if (settings.empty() && found == offered.end()) refuse(wanted, offered, template_name, where);
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
