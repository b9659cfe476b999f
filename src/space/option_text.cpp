#include "space/option_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

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

bool has_names(const std::string& option) {
  const std::vector<Piece> pieces = pieces_of(option);
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.is_name; });
}

const Parameter& parameter_of(const TemplateSpec& spec, const std::string& name, std::size_t option) {
  for (const Parameter& each : spec.parameters) {
    if (each.name == name) return each;
  }
  std::vector<std::string> names;
  names.reserve(spec.parameters.size());
  for (const Parameter& each : spec.parameters) names.push_back(each.name);
  throw UserError(fmt::format("'{}' in the option {} is no parameter", name, spec.compile_options[option]),
                  spec.where.at("compile_options").at(option),
                  names.empty() ? "write the value itself" : "name one of " + join(names, ", "));
}

}  // namespace

std::vector<std::string> options_with(const std::vector<std::string>& options,
                                      const NamedValues& parameters) {
  std::vector<std::string> filled;
  filled.reserve(options.size());
  for (const std::string& option : options) {
    std::string& text = filled.emplace_back();
    for (const Piece& piece : pieces_of(option)) {
      const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) {
        return piece.is_name && each.first == piece.text;
      });
      if (parameter != parameters.end()) {
        text += to_text(parameter->second);
      } else {
        text += piece.is_name ? "{" + piece.text + "}" : piece.text;
      }
    }
  }
  return filled;
}

std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option) {
  std::vector<std::string> texts = {""};
  for (const Piece& piece : pieces_of(spec.compile_options[option])) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      if (!piece.is_name) {
        longer.push_back(text + piece.text);
        continue;
      }
      for (const Value& value : parameter_of(spec, piece.text, option).values)
        longer.push_back(text + to_text(value));
    }
    texts = std::move(longer);
  }
  return texts;
}

std::vector<std::string> fixed_options(const TemplateSpec& spec) {
  std::vector<std::string> fixed = spec.compile_options;
  std::erase_if(fixed, [](const std::string& option) { return has_names(option); });
  return fixed;
}

}  // namespace tiletune
