#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostKinds = 200;
constexpr std::size_t kLongestReason = 300;

}  // namespace

std::string without_numbers(std::string_view text) {
  const auto is_part = [](char before, char c) {
    const bool is_sign = (c == '+' || c == '-') && before == 'e';
    return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'x' || is_sign;
  };
  std::string folded;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    folded += is_digit ? '#' : text[at];
    ++at;
    while (is_digit && at < text.size() && is_part(text[at - 1], text[at])) ++at;
  }
  return folded;
}

std::vector<FailureKind> failure_kinds(const Database& database, const TrialFilter& filter) {
  // Rows are written in the order in which they were compiled or measured, which differs from run to run.
  using Place = std::tuple<std::string, std::string, std::string>;
  std::map<std::pair<Outcome, std::string>, std::pair<Place, FailureKind>> found;
  static constexpr std::array kColumns{"kind", "outcome", "reason", "template", "problem", "parameters"};
  database.for_each(filter, kColumns, [&](std::int64_t id, const Trial& row) {
    if (row.kind != "kernel" || has_run(row.outcome) || row.outcome == Outcome::dispatched) return;
    std::string line = row.reason.substr(0, row.reason.find('\n'));
    if (line.size() > kLongestReason) line.replace(kLongestReason, line.npos, "...");
    Place place{row.template_name, row.problem, row.parameters};
    std::pair<Outcome, std::string> what{row.outcome, without_numbers(line)};
    if (found.size() >= kMostKinds && !found.contains(what)) what.second.clear();  // further kinds are one
    const auto [known, is_new] = found.try_emplace(std::move(what));
    auto& [first, kind] = known->second;
    ++kind.count;
    if (!is_new && first <= place) return;
    first = std::move(place);
    kind = {row.outcome, kind.count, id, std::move(line)};
  });
  std::vector<FailureKind> kinds;
  for (auto& [key, entry] : found) kinds.push_back(std::move(entry.second));
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const FailureKind& a, const FailureKind& b) { return a.count > b.count; });
  return kinds;
}

std::string failure_lines(const std::vector<FailureKind>& kinds, const Database& database) {
  constexpr std::size_t kMostListed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostListed); ++i) {
    const Trial example = database.row(kinds[i].example);
    text += fmt::format("  {} x {}: {}\n      such as {} {} {}\n", kinds[i].count, name(kinds[i].outcome),
                        printable(kinds[i].reason), printable(example.template_name),
                        printable(example.problem), printable(parameters_text(example)));
  }
  if (kinds.size() > kMostListed)
    text += fmt::format("  and {}\n", counted(kinds.size() - kMostListed, "more kind"));
  return text;
}

Json to_json(const std::vector<FailureKind>& kinds, const Database& database) {
  Json list = Json::array();
  for (const FailureKind& kind : kinds)
    list.push_back({{"outcome", name(kind.outcome)},
                    {"count", kind.count},
                    {"reason", kind.reason},
                    {"example", columns_json(database.row(kind.example),
                                             {"template", "problem", "gpu", "parameters"})}});
  return list;
}

}  // namespace tiletune
