#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "output/table.h"
#include "tune/inspection.h"

namespace tiletune {

/// The mix of the hottest loop and the predicted time: a line per configuration, problem and GPU.
TextTable sass_table();
void add_sass_rows(TextTable& table, const InspectedConfiguration& row, const std::vector<Target>& targets);
/// What stands under the table.
std::string sass_legend(const StaticModel& model);
/// The mixes of loop and kernel, the prediction and the terms it is made of.
nlohmann::ordered_json sass_json(const MachineCode& code);
/// Where the model is from, and the numbers that make a time of the terms.
nlohmann::ordered_json static_model_json(const StaticModel& model);

}  // namespace tiletune
