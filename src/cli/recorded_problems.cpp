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

/// How a label is named: in full, or with leading dimensions that it leaves out because they are as large as
/// a row, which is one of the sizes.
enum class Naming { exact, with_defaults };

bool names(const std::string& text, const std::string& label, Naming naming) {
  const auto asked = problem_words(text);
  const auto recorded = problem_words(label);
  const auto sizes = split(recorded.front(), 'x');
  const auto is_asked = [&](const std::string& size) { return size == asked.front(); };
  if (asked.front() != recorded.front() && !std::all_of(sizes.begin(), sizes.end(), is_asked)) return false;
  std::set<std::string> leading(asked.begin() + 1, asked.end());
  if (naming == Naming::with_defaults) {
    std::erase_if(leading, [&](const std::string& setting) {
      const std::string elements = setting.substr(setting.find('=') + 1);
      return std::find(sizes.begin(), sizes.end(), elements) != sizes.end();
    });
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
    for (const Naming naming : {Naming::exact, Naming::with_defaults}) {
      if (found.size() > before) continue;
      std::copy_if(recorded.begin(), recorded.end(), std::back_inserter(found),
                   [&](const std::string& label) { return names(text, label, naming); });
    }
    if (found.size() == before) found.push_back(text);
  }
  return found;
}

}  // namespace tiletune
