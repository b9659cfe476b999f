#include "tune/find_python.h"

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/worker_process.h"

namespace tiletune {

namespace {

struct FoundPython {
  Python python;
  std::string why_not;  ///< empty when there is one
};

/// The runner prints it last, behind whatever Python and NumPy say of themselves.
nlohmann::ordered_json last_object(const std::string& printed) {
  const std::vector<std::string> lines = split(printed, '\n');
  for (const std::string& line : std::views::reverse(lines)) {
    auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (json.is_object()) return json;
  }
  return {};
}

/// It runs as whoever calls tiletune, from whose folders alone it takes modules: those of the working folder
/// are a stranger's (WorkerProcess).
FoundPython look_for_python() {
  constexpr auto kPatience = std::chrono::seconds(30);
  const char* const named = std::getenv("TILETUNE_PYTHON");
  try {
    WorkerProcess process("/usr/bin/env", {named != nullptr && *named != '\0' ? named : "python3",
                                           python_runner().string(), "--facts"});
    process.receive(kPatience);
    const std::string printed = process.take_printed();
    const nlohmann::ordered_json facts = last_object(printed);
    if (!facts.is_object()) return {{}, printed.empty() ? "it did not answer" : printed_text(printed)};
    if (const auto error = facts.value("error", ""); !error.empty()) return {{}, printable(error)};
    return {{facts.at("executable").get<std::string>(), facts.at("places").get<std::vector<std::string>>()},
            ""};
  } catch (const UserError& error) {
    return {{}, error.message()};
  } catch (const std::exception&) {  // of the channel, or of facts of other types
    return {{}, "it is not Python"};
  }
}

}  // namespace

const Python& find_python(const Where& where) {
  static const FoundPython found = look_for_python();
  if (found.why_not.empty()) return found.python;
  throw UserError("the reference needs Python with NumPy: " + found.why_not, where,
                  "Install python3 and NumPy (python3-numpy), or name another Python in TILETUNE_PYTHON.");
}

std::filesystem::path python_runner() { return home_folder() / "python" / "run_reference.py"; }

}  // namespace tiletune
