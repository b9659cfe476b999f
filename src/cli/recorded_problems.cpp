#include "cli/recorded_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

void check(const std::string& text) {
  const auto sizes = written_sizes(text);
  // As they are recorded: neither a sign nor zeros in front.
  const auto is_size = [](const std::string& size) { return size.front() != '-' && size.front() != '0'; };
  if (sizes && std::all_of(sizes->begin(), sizes->end(), is_size)) return;
  throw UserError(fmt::format("'{}' is not a problem", text), Where{"--problem", ""},
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
