#include "spec/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"
#include "spec/load.h"

namespace tiletune {

namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

std::int64_t parse_size(const std::string& text, const std::string& problem, const std::string& dimension,
                        const Where& where) {
  std::int64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, size);
  const bool is_number =
      rest == end && error != std::errc::invalid_argument && !text.empty() && text.front() != '-';
  if (!is_number) {
    throw UserError(fmt::format("'{}' in the problem '{}' is no size", text, problem), where,
                    "Write sizes as integers with an x between them: 4096x4096x64.");
  }
  if (error == std::errc() && size >= 1 && size <= kLargestSize) return size;
  throw UserError(fmt::format("{} = {} is out of range", dimension, text), where,
                  fmt::format("Use sizes from 1 to {}.", kLargestSize));
}

Problem uniform_problem(std::int64_t size, const std::vector<std::string>& dimensions) {
  Problem problem;
  for (const auto& dimension : dimensions) problem.dimensions.emplace_back(dimension, size);
  return problem;
}

Problem read_named_problem(const Node& node, const std::vector<std::string>& dimensions) {
  const std::vector<std::string_view> known(dimensions.begin(), dimensions.end());
  ObjectReader reader(node, known);
  Problem problem;
  for (const auto& dimension : dimensions) {
    const Node size = reader.need(dimension, fmt::format("an integer from 1 to {}", kLargestSize));
    problem.dimensions.emplace_back(dimension, read_integer(size, 1, kLargestSize));
  }
  reader.finish();
  return problem;
}

Problem read_problem(const Node& node, const std::vector<std::string>& dimensions) {
  const auto& json = node.json.get();
  if (json.is_number()) return uniform_problem(read_integer(node, 1, kLargestSize), dimensions);
  if (json.is_string()) return parse_problem(read_string(node), dimensions, node.where);
  if (json.is_object()) return read_named_problem(node, dimensions);
  refuse_kind(node, fmt::format("a problem (a string like \"{}\", an integer, or an object of sizes)",
                                join(dimensions, "x")));
}

void add_distinct(std::vector<Problem>& problems, Problem problem, const Where& where) {
  if (std::find(problems.begin(), problems.end(), problem) != problems.end()) {
    throw UserError(fmt::format("the problem {} is listed twice", problem.label()), where,
                    "Remove one of the two.");
  }
  problems.push_back(std::move(problem));
}

}  // namespace

std::string Problem::label() const {
  std::vector<std::string> sizes;
  sizes.reserve(dimensions.size());
  for (const auto& [dimension, size] : dimensions) sizes.push_back(std::to_string(size));
  return join(sizes, "x");
}

std::int64_t Problem::at(std::string_view dimension) const {
  for (const auto& [name, size] : dimensions) {
    if (name == dimension) return size;
  }
  throw std::out_of_range(fmt::format("the problem {} has no dimension '{}'", label(), dimension));
}

Problem parse_problem(const std::string& text, const std::vector<std::string>& dimensions,
                      const Where& where) {
  const auto parts = split(text, 'x');
  if (parts.size() == 1)
    return uniform_problem(parse_size(text, text, join(dimensions, ", "), where), dimensions);
  if (parts.size() != dimensions.size()) {
    throw UserError(fmt::format("the problem '{}' has {} sizes, expected {} ({})", text, parts.size(),
                                dimensions.size(), join(dimensions, "x")),
                    where, "Give one size per dimension, or one size for all.");
  }
  Problem problem;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    problem.dimensions.emplace_back(dimensions[i], parse_size(parts[i], text, dimensions[i], where));
  }
  return problem;
}

std::vector<Problem> read_problems(const Node& node, const std::vector<std::string>& dimensions) {
  std::vector<Problem> problems;
  for (const Node& element : read_list(node, "problems")) {
    add_distinct(problems, read_problem(element, dimensions), element.where);
  }
  return problems;
}

std::vector<Problem> parse_problems(const std::vector<std::string>& texts,
                                    const std::vector<std::string>& dimensions, const Where& where) {
  std::vector<Problem> problems;
  for (const auto& text : texts) add_distinct(problems, parse_problem(text, dimensions, where), where);
  return problems;
}

}  // namespace tiletune
