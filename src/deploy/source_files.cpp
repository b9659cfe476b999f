#include "deploy/source_files.h"

#include <deque>
#include <filesystem>
#include <regex>
#include <vector>

namespace tiletune {

SourceFiles source_files(const KernelSource& source) {
  namespace fs = std::filesystem;
  const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+)[">])", std::regex::multiline);
  SourceFiles files;
  std::deque<std::pair<std::string, std::string>> open{{source.name, source.text}};
  while (!open.empty()) {
    const auto [name, text] = std::move(open.front());
    open.pop_front();
    if (!files.texts.try_emplace(name, text).second) continue;
    for (std::sregex_iterator found(text.begin(), text.end(), include), end; found != end; ++found) {
      std::vector<std::string> places{fs::path(name).parent_path().string()};
      places.insert(places.end(), source.search_before.begin(), source.search_before.end());
      bool is_own = false;
      for (const std::string& place : places) {
        const std::string candidate = (fs::path(place) / (*found)[1].str()).lexically_normal().string();
        const Descriptor file = open_included(source, candidate);
        if (!file.is_open()) continue;
        is_own = true;
        if (auto content = source_content(file)) open.emplace_back(candidate, std::move(*content));
        break;
      }
      if (!is_own) files.not_found.insert((*found)[1].str());
    }
  }
  return files;
}

}  // namespace tiletune
