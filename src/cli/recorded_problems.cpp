#include "cli/recorded_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/identifier.h"
#include "base/text.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

void check_problem(const std::string& text) {
  auto words = problem_words(text);
  const auto sizes = written_sizes(words.front());
  // As they are recorded: neither a sign nor zeros in front.
  const auto is_value = [](const std::string& value) {
    return !value.empty() && value.front() != '-' && value.front() != '0';
  };
  const auto is_setting = [&](const std::string& word) {
    const auto parts = split(word, '=');
    return parts.size() == 2 && is_identifier(parts.front()) && is_value(parts.back());
  };
  if (sizes && std::all_of(sizes->begin(), sizes->end(), is_value) &&
      std::all_of(words.begin() + 1, words.end(), is_setting))
    return;
  throw UserError(fmt::format("'{}' is not a problem", text), Where{"--problem", ""},
                  "Write it as it is recorded: 4096x4096x64, 1000x77x513,lda=520 or 1x8192x8192,layout=nt.");
}

/// Whether a problem's row states "layout=nt" among its options, or "A=f16" among its types.
bool states(const StatedProblem& recorded, std::string setting) {
  const auto has = [&](const std::string& text) {
    const auto words = split(text, ' ');
    return std::find(words.begin(), words.end(), setting) != words.end();
  };
  if (has(recorded.options)) return true;
  std::replace(setting.begin(), setting.end(), '=', ':');
  return has(recorded.element_types);
}

/// How a label is named: in full, or with leading dimensions that it leaves out because they are as large as
/// a row, which is one of the sizes.
enum class Naming { exact, with_defaults };

/// `stated` is set where the text states options or types of the row.
bool names(const std::string& text, const StatedProblem& problem, Naming naming, bool& stated) {
  const auto asked = problem_words(text);
  const auto recorded = problem_words(problem.problem);
  const auto sizes = split(recorded.front(), 'x');
  const auto is_asked = [&](const std::string& size) { return size == asked.front(); };
  if (asked.front() != recorded.front() && !std::all_of(sizes.begin(), sizes.end(), is_asked)) return false;
  std::set<std::string> leading(asked.begin() + 1, asked.end());
  stated = std::erase_if(leading, [&](const std::string& word) { return states(problem, word); }) > 0;
  if (naming == Naming::with_defaults) {
    std::erase_if(leading, [&](const std::string& setting) {
      const std::string elements = setting.substr(setting.find('=') + 1);
      return std::find(sizes.begin(), sizes.end(), elements) != sizes.end();
    });
  }
  return leading == std::set<std::string>(recorded.begin() + 1, recorded.end());
}

/// Without options and types where no text has more than sizes: then not all rows need be read.
std::vector<StatedProblem> recorded_problems(const std::vector<const Database*>& databases, bool with_more) {
  std::vector<StatedProblem> recorded;
  for (const Database* database : databases) {
    if (with_more) {
      const auto problems = database->stated_problems();
      recorded.insert(recorded.end(), problems.begin(), problems.end());
    } else {
      for (const std::string& problem : database->problems()) recorded.push_back({problem});
    }
  }
  return recorded;
}

template <typename T>
void add_new(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

void filter_problems(const std::vector<std::string>& texts, const std::vector<const Database*>& databases,
                     TrialFilter& filter) {
  if (texts.empty()) return;
  for (const std::string& text : texts) check_problem(text);
  const auto has_more = [](const std::string& text) { return text.find('=') != std::string::npos; };
  const auto recorded = recorded_problems(databases, std::any_of(texts.begin(), texts.end(), has_more));
  for (const std::string& text : texts) {
    bool is_found = false;
    for (const Naming naming : {Naming::exact, Naming::with_defaults}) {
      if (is_found) continue;
      for (const StatedProblem& problem : recorded) {
        bool stated = false;
        if (!names(text, problem, naming, stated)) continue;
        is_found = true;
        if (stated)
          add_new(filter.stated_problems, problem);
        else
          add_new(filter.problems, problem.problem);
      }
    }
    if (!is_found) filter.problems.push_back(text);
  }
}

}  // namespace tiletune
