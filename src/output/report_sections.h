#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "output/configuration_report.h"

namespace tiletune {

/// A heading and labelled lines below it; nothing when there are none.
class ReportSection {
 public:
  explicit ReportSection(std::string title) : title_(std::move(title)) {}

  /// An empty text is left out.
  void add(const std::string& label, const std::string& text);
  void write(std::ostream& out) const;

 private:
  std::string title_;
  std::vector<std::pair<std::string, std::string>> lines_;
};

// The parts of a report, in its order. Each is empty where the row has nothing to say.

ReportSection what_section(const Trial& kernel);
ReportSection binary_section(const ConfigurationReport& report);
ReportSection time_section(const Trial& kernel);
ReportSection prediction_section(const Trial& kernel);
ReportSection throughput_section(const ConfigurationReport& report);
ReportSection sustained_section(const ConfigurationReport& report);
ReportSection accuracy_section(const ConfigurationReport& report);
ReportSection method_section(const ConfigurationReport& report);

/// Bins of a report's histogram.
inline constexpr std::size_t kMostBins = 12;

}  // namespace tiletune
