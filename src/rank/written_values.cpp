#include "rank/written_values.h"

#include <utility>

#include "base/text.h"

namespace tiletune {

namespace {

using ByParameter = std::map<std::pair<std::string, std::string>, std::map<Writing, std::set<std::size_t>>>;

void note_writings(const Side& side, std::size_t place, ByParameter& all) {
  for (const auto& [kernel, lists] : side.parameter_lists) {
    for (const auto& [list, use] : lists) {
      const std::vector<std::string> names = split(list, '\n');  // nothing is behind the last line feed
      for (std::size_t i = 0; i < use.writings.size(); ++i) {
        for (const Writing writing : use.writings[i]) all[{kernel, names[i]}][writing].insert(place);
      }
    }
  }
}

}  // namespace

std::vector<WrittenValues> values_in_several_writings(const std::vector<Side>& sides) {
  ByParameter all;
  for (std::size_t i = 0; i < sides.size(); ++i) note_writings(sides[i], i, all);
  std::vector<WrittenValues> several;
  for (auto& [what, writings] : all) {
    if (writings.size() > 1) several.push_back({what.first, what.second, std::move(writings)});
  }
  return several;
}

const char* name(Writing writing) {
  switch (writing) {
    case Writing::boolean:
      return "boolean";
    case Writing::whole_number:
      return "integer";
    case Writing::number_with_point:
      return "float";
  }
  return "";
}

}  // namespace tiletune
