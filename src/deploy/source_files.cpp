#include "deploy/source_files.h"

#include <algorithm>
#include <climits>
#include <deque>
#include <filesystem>
#include <string_view>

#include "base/text.h"

namespace tiletune {

KernelSource template_source(const TemplateSpec& spec) {
  return read_kernel_source(spec.source, spec.folder, spec.include_folders, spec.folder, false);
}

std::vector<std::string> included_names(const std::string& text) {
  constexpr std::string_view kBlanks = " \t";
  constexpr std::string_view kInclude = "include";
  std::vector<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    std::string_view rest = line;
    const auto skip_blanks = [&] {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    };
    skip_blanks();
    if (!rest.starts_with('#')) continue;
    rest.remove_prefix(1);
    skip_blanks();
    if (!rest.starts_with(kInclude)) continue;
    rest.remove_prefix(kInclude.size());
    skip_blanks();
    if (!rest.starts_with('<') && !rest.starts_with('"')) continue;
    const std::size_t end = rest.find(rest.front() == '<' ? '>' : '"', 1);
    if (end != std::string_view::npos && end <= PATH_MAX) names.emplace_back(rest.substr(1, end - 1));
  }
  return names;
}

SourceFiles source_files(const KernelSource& source) {
  namespace fs = std::filesystem;
  SourceFiles files;
  std::deque<std::pair<std::string, std::string>> open{{source.name, source.text}};
  while (!open.empty()) {
    const auto [name, text] = std::move(open.front());
    open.pop_front();
    if (!files.texts.try_emplace(name, text).second) continue;
    for (const std::string& included : included_names(text)) {
      std::vector<std::string> places{fs::path(name).parent_path().string()};
      places.insert(places.end(), source.search_before.begin(), source.search_before.end());
      bool is_own = false;
      for (const std::string& place : places) {
        const std::string candidate = (fs::path(place) / included).lexically_normal().string();
        const Descriptor file = open_included(source, candidate);
        if (!file.is_open()) continue;
        is_own = true;
        if (auto content = source_content(file)) open.emplace_back(candidate, std::move(*content));
        break;
      }
      if (!is_own) files.not_found.insert(included);
    }
  }
  return files;
}

}  // namespace tiletune
