#include "cli/recorded_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

/// A size as it is recorded: neither zeros in front nor spaces.
bool is_size(const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  return digits && !text.empty() && text.front() != '0';
}

bool is_leading_dimension(const std::string& word) {
  const auto parts = split(word, '=');
  const auto& known = leading_dimensions(Operation::gemm);
  return parts.size() == 2 && is_size(parts.back()) &&
         std::any_of(known.begin(), known.end(),
                     [&](const LeadingDimension& each) { return each.name == parts.front(); });
}

void check(const std::string& text) {
  const auto words = problem_words(text);
  const auto sizes = split(words.front(), 'x');
  if (std::all_of(sizes.begin(), sizes.end(), is_size) &&
      std::all_of(words.begin() + 1, words.end(), is_leading_dimension)) {
    return;
  }
  throw UserError(fmt::format("'{}' is no problem", text), Where{"--problem", ""},
                  "Write it as it is recorded: 4096x4096x64, or 1000x77x513,lda=520.");
}

bool names(const std::string& text, const std::string& label) {
  const auto asked = problem_words(text);
  const auto recorded = problem_words(label);
  const auto sizes = split(recorded.front(), 'x');
  const auto is_asked = [&](const std::string& size) { return size == asked.front(); };
  if (asked.front() != recorded.front() && !std::all_of(sizes.begin(), sizes.end(), is_asked)) return false;
  std::set<std::string> leading(asked.begin() + 1, asked.end());
  // Labels leave out defaults; of three sizes the last are N and K.
  if (sizes.size() == 3) {
    for (const auto& each : leading_dimensions(Operation::gemm))
      leading.erase(each.name + "=" + sizes[each.columns == "K" ? 2 : 1]);
  }
  return leading == std::set<std::string>(recorded.begin() + 1, recorded.end());
}

}  // namespace

std::vector<std::string> recorded_problems(const std::vector<std::string>& texts,
                                           const std::vector<std::string>& recorded) {
  std::vector<std::string> found;
  for (const std::string& text : texts) {
    check(text);
    const std::size_t before = found.size();
    std::copy_if(recorded.begin(), recorded.end(), std::back_inserter(found),
                 [&](const std::string& label) { return names(text, label); });
    if (found.size() == before) found.push_back(text);
  }
  return found;
}

}  // namespace tiletune
