#include "cli/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace tiletune {

namespace fs = std::filesystem;

Sandbox::Sandbox() {
  std::string name = (fs::temp_directory_path() / "tiletune_cli_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  folder_ = name;
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Sandbox::write(const std::string& name, const std::string& content) const {
  write_file_atomically(folder_ / name, content);
  return (folder_ / name).string();
}

pid_t Sandbox::start(const std::vector<std::string>& arguments, const std::function<void()>& in_child) const {
  const std::string program = std::string(TILETUNE_BINARY_DIR) + "/tiletune";
  const std::string out = (folder_ / "stdout").string();
  const std::string err = (folder_ / "stderr").string();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  ::setenv("TILETUNE_HOME", TILETUNE_SOURCE_DIR, 1);
  ::unsetenv("COLUMNS");  // of whoever runs the tests
  if (::chdir(folder_.c_str()) != 0) ::_exit(99);
  constexpr int kMode = 0600;
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode), STDERR_FILENO);
  if (in_child) in_child();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  ::_exit(98);
}

Finished Sandbox::wait(pid_t process) const {
  int status = 0;
  ::waitpid(process, &status, 0);
  constexpr int kSignalled = 128;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status),
          read_file(folder_ / "stdout"), read_file(folder_ / "stderr")};
}

std::string Sandbox::write_tiny_space(int configurations, const std::string& more_of_the_config) const {
  std::string values;
  for (int i = 0; i < configurations; ++i) values += (i == 0 ? "" : ", ") + std::to_string(i);
  write("tiny/kernel.cu",
        "extern \"C\" __global__ void tiny(const float* A, const float* B, float* C) { C[0] = A[0] * B[0] + "
        "V; }\n");
  write("tiny/template.json", R"({
    "name": "tiny", "summary": "one product", "operation": "gemm", "source": "kernel.cu", "kernel": "tiny",
    "macros": {"V": "V"},
    "parameters": [{"name": "V", "values": [)" +
                                  values + R"(], "meaning": "what is added"}],
    "launch": {"grid": [1], "block": [32]},
    "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}]
  })");
  return write("tiny.json", R"({"templates": ["tiny"], "problems": ["1x1x1"])" + more_of_the_config + "}");
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    try {
      if (condition()) return true;
    } catch (const UserError&) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

void adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) std::abort();
}

bool no_orphans() {
  return eventually(
      [] {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
      },
      std::chrono::seconds(5));
}

}  // namespace tiletune
