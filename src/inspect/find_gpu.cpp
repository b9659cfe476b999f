#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "inspect/gpu_model.h"

namespace tiletune {
namespace {

[[noreturn]] void throw_unknown(const std::vector<GpuModel>& models, const std::string& name) {
  std::vector<std::string> known;
  std::vector<std::string> with_aliases;
  for (const GpuModel& model : models) {
    known.push_back(model.name);
    with_aliases.push_back(model.name);
    with_aliases.insert(with_aliases.end(), model.aliases.begin(), model.aliases.end());
  }
  const auto near = nearest(name, with_aliases);
  throw UserError(fmt::format("there is no GPU model '{}'", name),
                  fmt::format("{}Name one of {}; or describe another in a file in configs/gpus.",
                              near ? fmt::format("Did you mean '{}'? ", *near) : "", join(known, ", ")));
}

}  // namespace

const GpuModel* model_called(const std::vector<GpuModel>& models, const std::string& name) {
  const std::string wanted = squashed(name);
  if (wanted.empty()) return nullptr;
  const auto is_wanted = [&](const std::string& one) { return squashed(one) == wanted; };
  const auto found = std::ranges::find_if(models, [&](const GpuModel& model) {
    return is_wanted(model.name) || std::ranges::any_of(model.aliases, is_wanted);
  });
  return found == models.end() ? nullptr : &*found;
}

const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name) {
  if (const GpuModel* model = model_called(models, name)) return *model;
  std::vector<std::string> with_its_words;
  for (const GpuModel& model : models) {
    const auto has_its_words = [&](const std::string& one) { return has_words(one, name); };
    if (has_its_words(model.name) || std::ranges::any_of(model.aliases, has_its_words))
      with_its_words.push_back(model.name);
  }
  if (with_its_words.empty()) throw_unknown(models, name);
  throw UserError(fmt::format("'{}' is not the full name of a GPU model", name),
                  fmt::format("Name one in full: {}.", join(with_its_words, ", ")));
}

}  // namespace tiletune
