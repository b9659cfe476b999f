#include "output/export_formats.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// name, help, is_best, takes_samples, takes_name_space, write
constexpr std::array kExportFormats{
    ExportFormat{"json", "all columns", false, true, false, write_export},
    ExportFormat{"json", "", true, false, false, write_best},
    ExportFormat{"t4", "results as autotuners exchange them, with every sample", false, true, false,
                 write_t4},
    ExportFormat{"header", "the best configurations and their lookup in C++17", true, false, true,
                 write_header},
};

}  // namespace

std::string export_formats_help() {
  std::vector<std::string> lines;
  for (const ExportFormat& format : kExportFormats) {
    if (*format.help != '\0') lines.push_back(fmt::format("{}: {}", format.name, format.help));
  }
  return join(lines, "; ");
}

const ExportFormat& find_export_format(const std::string& name, bool best) {
  const Where where{"--format", ""};
  std::vector<std::string> known;
  bool is_known = false;
  for (const ExportFormat& format : kExportFormats) {
    if (known.empty() || known.back() != format.name) known.emplace_back(format.name);
    if (format.name != name) continue;
    if (format.is_best || !best) return format;
    is_known = true;
  }
  if (is_known) throw UserError("has no effect with --best", where, "Leave one of the two out.");
  throw UserError(fmt::format("there is no export format '{}'", name), where,
                  fmt::format("Use one of {}; for CSV: tiletune rank --format csv.", join(known, ", ")));
}

}  // namespace tiletune
