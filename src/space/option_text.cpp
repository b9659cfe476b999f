#include "space/option_text.h"

#include <fmt/format.h>

#include <ranges>

#include "base/text.h"

namespace tiletune {

namespace {

constexpr std::uint64_t kMostTexts = 100000;  ///< that one option can become
constexpr std::size_t kLongestOption = 8192;
constexpr std::size_t kMostCharacters = std::size_t{16} << 20;  ///< of all texts of one option

/// A stretch of an option: text as it is, or the name between braces.
struct Piece {
  std::string text;
  bool is_name = false;
};

std::vector<Piece> pieces_of(const std::string& option) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  while (begin < option.size()) {
    const std::size_t open = option.find('{', begin);
    const std::size_t close = option.find('}', open);
    if (open == std::string::npos || close == std::string::npos) break;
    if (open > begin) pieces.push_back({option.substr(begin, open - begin)});
    pieces.push_back({option.substr(open + 1, close - open - 1), true});
    begin = close + 1;
  }
  if (begin < option.size()) pieces.push_back({option.substr(begin)});
  return pieces;
}

const Parameter& parameter_of(const TemplateSpec& spec, const std::string& name, const std::string& text,
                              const Where& where) {
  for (const Parameter& each : spec.parameters)
    if (each.name == name) return each;
  std::vector<std::string> names;
  for (const Parameter& each : spec.parameters) names.push_back(each.name);
  throw UserError(fmt::format("'{}' in {} is not a parameter", name, text), where,
                  names.empty() ? "write the value itself" : "name one of " + join(names, ", "));
}

/// The parameters that a text names, each once.
std::vector<const Parameter*> parameters_in(const TemplateSpec& spec, const std::string& text,
                                            const Where& where) {
  std::vector<const Parameter*> named;
  for (const Piece& piece : pieces_of(text)) {
    if (!piece.is_name) continue;
    const Parameter* const parameter = &parameter_of(spec, piece.text, text, where);
    if (std::find(named.begin(), named.end(), parameter) == named.end()) named.push_back(parameter);
  }
  return named;
}

/// One of all combinations of the parameters' values; those of the last one vary fastest.
NamedValues values_of(const std::vector<const Parameter*>& parameters, std::uint64_t combination) {
  NamedValues values;
  for (const Parameter* parameter : std::views::reverse(parameters)) {
    const auto& known = parameter->values;
    values.emplace_back(parameter->name, known[combination % known.size()]);
    combination /= known.size();
  }
  return values;
}

std::string beginning_of(const std::string& option) {
  constexpr std::size_t kMostShown = 60;
  return fmt::format("'{}'", option.size() <= kMostShown ? option : option.substr(0, kMostShown) + "...");
}

[[noreturn]] void refuse_length(const std::string& option, const std::string& part, std::size_t most,
                                const Where& where) {
  throw UserError(fmt::format("the option {} is longer than {} characters from {} on", beginning_of(option),
                              most, beginning_of(part)),
                  where, "Shorten the option or the values.");
}

}  // namespace

/// Names that are not parameters stay as they are.
std::string filled(const std::string& option, const NamedValues& parameters, const Where& where) {
  std::string text;
  for (const Piece& piece : pieces_of(option)) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) {
      return piece.is_name && each.first == piece.text;
    });
    if (parameter != parameters.end()) {
      text += to_text(parameter->second);
    } else {
      text += piece.is_name ? "{" + piece.text + "}" : piece.text;
    }
    if (text.size() > kLongestOption) refuse_length(option, piece.text, kLongestOption, where);
  }
  return text;
}

std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters,
                                      const Where& where) {
  std::vector<std::string> texts;
  for (const std::string& option : options)
    texts.push_back(filled(option, parameters, where.at(texts.size())));
  return texts;
}

void check_names(const TemplateSpec& spec, const std::string& text, const Where& where) {
  parameters_in(spec, text, where);
}

std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option, const Stop& stop) {
  const std::string& text = spec.compile_options[option];
  const Where where = spec.where.at("compile_options").at(option);
  const std::vector<const Parameter*> named = parameters_in(spec, text, where);
  std::uint64_t count = 1;
  for (const Parameter* parameter : named) {
    count *= parameter->values.size();
    if (count <= kMostTexts) continue;
    throw UserError(fmt::format("{} can become more than {} texts by the values of '{}'", beginning_of(text),
                                kMostTexts, parameter->name),
                    where, "Name fewer parameters in one option: give each an option or a macro.");
  }
  std::vector<std::string> texts;
  std::size_t total = 0;
  for (std::uint64_t combination = 0; combination < count; ++combination) {
    if (stop()) throw Stopped();
    texts.push_back(filled(text, values_of(named, combination), where));
    total += texts.back().size();
    if (total > kMostCharacters) refuse_length(text, named.back()->name, kMostCharacters, where);
  }
  return texts;
}

std::vector<std::string> fixed_options(const TemplateSpec& spec) {
  std::vector<std::string> fixed = spec.compile_options;
  std::erase_if(fixed, [](const std::string& option) {
    return std::ranges::any_of(pieces_of(option), &Piece::is_name);
  });
  return fixed;
}

}  // namespace tiletune
