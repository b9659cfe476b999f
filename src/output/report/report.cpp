#include "output/report/report.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "output/display.h"

namespace tiletune {

// The page with its style and scripts, up to its data and after it: page_text.cpp.in.
extern const std::string_view kPageBeforeData, kPageAfterData;
extern const bool kPageHasCharts;

namespace {

/// JSON that may stand in a <script> element: without '<' there is neither an end of the element nor a
/// comment, and without '&' nothing that XML would read. Outside of strings JSON has neither.
std::string script_safe(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else if (c == '>')
      safe += "\\u003e";
    else if (c == '&')
      safe += "\\u0026";
    else
      safe += c;
  }
  return safe;
}

}  // namespace

bool report_has_charts() { return kPageHasCharts; }

ReportSize write_report(std::ostream& out, const Database& database, const TrialFilter& filter,
                        const ReportOptions& options) {
  const nlohmann::ordered_json data = report_data(database, filter, options);
  ReportSize size;
  for (const auto& group : data["groups"]) {
    ++size.groups;
    size.configurations += group["timed"].get<std::size_t>();
    size.shown += group["shown"].get<std::size_t>();
  }
  if (size.groups == 0) return size;
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // A browser obeys what reorders text, so the page shows its escapes.
  out << kPageBeforeData << script_safe(with_escaped_controls(text, "\\\\u")) << kPageAfterData;
  return size;
}

}  // namespace tiletune
