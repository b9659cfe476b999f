#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "measure/messages.h"

/// The parts that messages are made of, to JSON and back.
namespace tiletune::message {

using Json = nlohmann::ordered_json;

Json shape_json(const LaunchShape& s);
LaunchShape shape_from(const Json& json);
Json arguments_json(const std::vector<ArgumentValue>& arguments);
std::vector<ArgumentValue> arguments_from(const Json& json);
Json workspace_json(const std::vector<SizedWorkspace>& workspace);
std::vector<SizedWorkspace> workspace_from(const Json& json);
Json workload_json(const Workload& workload);
Workload workload_from(const Json& json);
Json timing_json(const Timing& timing);
Timing timing_from(const Json& json);
Json accuracy_json(const Accuracy& accuracy);
Accuracy accuracy_from(const Json& json);
Json condition_json(const GpuCondition& condition);
GpuCondition condition_from(const Json& json);
Json baseline_json(const MeasuredBaseline& baseline);
MeasuredBaseline baseline_from(const Json& json);
Json calibration_json(const Calibration& calibration);
Calibration calibration_from(const Json& json);
Outcome get_outcome(const Json& json, const char* type);
MeasurePolicy policy_from(const Json& json);
Json whole_policy_json(const MeasurePolicy& policy);
Json final_time_json(const FinalTime& time);
FinalTime final_time_from(const Json& json);

}  // namespace tiletune::message
