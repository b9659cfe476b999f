#include "tune/recorded_task.h"

#include <nlohmann/json.hpp>

#include "tune/row.h"

namespace tiletune {

RecordedTask::RecordedTask(const TuneSpec& spec, const Task& task, const Recording& recording,
                           const Target& target)
    : task_(&task),
      recording_(&recording),
      like_(make_task_trial(spec, task, target)),
      key_(recording.place_of(like_)),
      place_(recording.place(key_)) {
  if (place_ == nullptr) return;
  unknown_ = place_->names;
  const auto& parameters = task.spec->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_listed = std::erase(unknown_, parameters[i].name) > 0;
    if (is_listed) {
      listed_.push_back(i);
      values_.emplace_back(parameters[i].values);
    } else if (parameters[i].values.size() == 1) {
      granted_.push_back(i);
    } else {
      unlisted_.push_back(parameters[i].name);
    }
  }
}

NamedValues RecordedTask::taken_for_granted() const {
  NamedValues values;
  for (const std::size_t i : granted_) {
    const Parameter& parameter = task_->spec->parameters[i];
    values.emplace_back(parameter.name, parameter.values.front());
  }
  return values;
}

const Recording::Entry* RecordedTask::find(std::uint64_t index) const {
  if (!is_joined()) return nullptr;
  Configuration configuration = task_->space.at(index);
  NamedValues listed;
  listed.reserve(listed_.size());
  for (const std::size_t i : listed_)
    listed.emplace_back(task_->spec->parameters[i].name, std::move(configuration.values[i]));
  return recording_->find(key_, to_json(listed).dump());
}

std::optional<double> RecordedTask::fastest_us() const {
  if (!is_joined()) return std::nullopt;
  return recording_->fastest_us(key_,
                                [this](const std::string& parameters) { return is_in_space(parameters); });
}

bool RecordedTask::is_in_space(const std::string& parameters) const {
  Configuration configuration;
  for (const Parameter& parameter : task_->spec->parameters)
    configuration.values.push_back(parameter.values.front());
  std::size_t known = 0;
  std::size_t members = 0;
  for_each_member(parameters, [&](std::string_view name, std::string_view written) {
    ++members;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (task_->spec->parameters[listed_[i]].name != name) continue;
      const Value* value = values_[i].find(written);
      if (value == nullptr) return;
      configuration.values[listed_[i]] = *value;
      ++known;
    }
  });
  return known == listed_.size() && members == known &&
         task_->space.index_of(configuration) < task_->space.size();
}

}  // namespace tiletune
