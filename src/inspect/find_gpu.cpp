#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "inspect/gpu_model.h"

namespace tiletune {
namespace {

std::vector<std::string> names_of(const GpuModel& model) {
  std::vector<std::string> names{model.name};
  names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  return names;
}

[[noreturn]] void throw_unknown(const std::vector<GpuModel>& models, const std::string& name) {
  std::vector<std::string> known;
  std::vector<std::string> with_aliases;
  for (const GpuModel& model : models) {
    known.push_back(model.name);
    const std::vector<std::string> names = names_of(model);
    with_aliases.insert(with_aliases.end(), names.begin(), names.end());
  }
  const auto near = nearest(name, with_aliases);
  throw UserError(fmt::format("there is no GPU model '{}'", name),
                  fmt::format("{}Name one of {}; or describe another in a file in configs/gpus.",
                              near ? fmt::format("Did you mean '{}'? ", *near) : "", join(known, ", ")));
}

}  // namespace

const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name) {
  const std::string wanted = squashed(name);
  std::vector<std::string> with_its_words;
  for (const GpuModel& model : models) {
    const std::vector<std::string> names = names_of(model);
    const auto is_it = [&](const std::string& one) { return !wanted.empty() && squashed(one) == wanted; };
    if (std::any_of(names.begin(), names.end(), is_it)) return model;
    const auto has_its_words = [&](const std::string& one) { return has_words(one, name); };
    if (std::any_of(names.begin(), names.end(), has_its_words)) with_its_words.push_back(model.name);
  }
  if (with_its_words.empty()) throw_unknown(models, name);
  throw UserError(fmt::format("'{}' is not the full name of a GPU model", name),
                  fmt::format("Name one in full: {}.", join(with_its_words, ", ")));
}

}  // namespace tiletune
