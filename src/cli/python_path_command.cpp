#include "base/file.h"
#include "cli/commands.h"
#include "cli/common.h"

namespace tiletune {

void add_python_path_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "python-path", "Print the folder of the Python package that runs Kernel Tuner scripts");
  command->footer("Example:\n  PYTHONPATH=$(tiletune python-path) python3 matmul.py");
  command->callback([&action] {
    action = [] {
      write_output("", (home_folder() / "python").string() + "\n");
      return 0;
    };
  });
}

}  // namespace tiletune
