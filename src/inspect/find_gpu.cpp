#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "inspect/gpu_model.h"

namespace tiletune {
namespace {

enum class Match { none, beginning, whole };

/// The best match of a squashed name with the model's name and aliases.
Match match(const GpuModel& model, const std::string& wanted) {
  Match best = Match::none;
  const auto compare = [&](const std::string& name) {
    const std::string candidate = squashed(name);
    if (candidate == wanted) {
      best = Match::whole;
    } else if (best == Match::none && candidate.starts_with(wanted)) {
      best = Match::beginning;
    }
  };
  compare(model.name);
  for (const std::string& alias : model.aliases) compare(alias);
  return best;
}

std::vector<std::string> names_of(const std::vector<const GpuModel*>& models) {
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const GpuModel* model : models) names.push_back(model->name);
  return names;
}

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

const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name) {
  const std::string wanted = squashed(name);
  std::vector<const GpuModel*> by_beginning;
  for (const GpuModel& model : models) {
    const Match found = wanted.empty() ? Match::none : match(model, wanted);
    if (found == Match::whole) return model;
    if (found == Match::beginning) by_beginning.push_back(&model);
  }
  if (by_beginning.empty()) throw_unknown(models, name);
  if (by_beginning.size() > 1) {
    throw UserError(fmt::format("'{}' may be any of {}", name, join(names_of(by_beginning), ", ")),
                    "Write more of the name.");
  }
  return *by_beginning.front();
}

}  // namespace tiletune
