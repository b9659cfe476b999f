// References that are no kernels: files, functions of Python, configurations that agree.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "carries.h"
#include "cli/fake_sweep.h"
#include "cli/needs_numpy.h"
#include "cli/process.h"

namespace tiletune {
namespace references_test {

using Json = nlohmann::ordered_json;

constexpr const char* kManifest = R"--({
  "name": "scale", "summary": "y = f x",
  "operation": {
    "name": "scale", "dimensions": ["n"], "scalars": {"f": 2},
    "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"@VALUES@},
                {"name": "y", "type": "f32", "elements": "n", "role": "out"}],
    "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "reference": @REFERENCE@},
  "source": "kernel.cuh", "kernel": "scale", "template_arguments": ["THREADS"],
  "parameters": [{"name": "THREADS", "values": [32, 64, 128, 256, 512, 1024]}],
  "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
  "arguments": [{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"},
                {"scalar": "f", "type": "f32"}]})--";

constexpr const char* kKernel =
    "template <int THREADS> __global__ void scale(const float* x, float* y, int n, float f) {\n"
    "  const int i = blockIdx.x * THREADS + threadIdx.x;\n"
    "  if (i < n) y[i] = f * x[i];\n"
    "}\n";

/// What stands for a text in another, replaced.
std::string with(std::string text, const std::string& mark, const std::string& value) {
  return text.replace(text.find(mark), mark.size(), value);
}

class References : public testing::Test {
 protected:
  /// Writes the space with a reference and, of x, values.
  std::string space(const std::string& reference, const std::string& values = "") const {
    std::filesystem::create_directories(sandbox_.folder() / "scale");
    sandbox_.write("scale/kernel.cuh", kKernel);
    sandbox_.write("scale/template.json",
                   with(with(kManifest, "@VALUES@", values), "@REFERENCE@", reference));
    return sandbox_.write("scale.json", R"({"templates": ["scale"], "problems": ["1000"])" + kNoFinals + "}");
  }
  std::string python(const std::string& body) const {
    sandbox_.write("scale/ref.py", "import numpy\n\ndef scale(inputs, problem):\n    " + body + "\n");
    return space(R"({"python": "ref.py", "function": "scale", "timeout_s": 20})");
  }
  Finished sweep(const std::string& config, const std::string& mode = "none", int strikes_at = 3) const {
    return sandbox_.run(sweep_with(config, mode, strikes_at));
  }
  /// A sweep in which nothing runs, and every row says why.
  void expect_refused(const std::string& config, const std::vector<std::string>& parts) const {
    std::filesystem::remove(sandbox_.folder() / "results.db");
    const Finished finished = sweep(config);
    EXPECT_EQ(finished.code, 1) << finished.err;
    const auto rows = rows_of(sandbox_);
    EXPECT_EQ(kernels_with(rows, Outcome::refused), 6);
    for (const Trial& row : rows) EXPECT_TRUE(carries(row.reason, parts));
  }

  Sandbox sandbox_;
};

TEST_F(References, OfPythonRunOncePerProblem) {
  NEEDS_NUMPY();
  const std::string config = python("assert inputs['x'].shape == (1000,); return inputs['x'] * problem['f']");
  const Finished finished = sweep(config);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
  const Finished again = sweep(config);
  EXPECT_TRUE(carries(again.out + again.err, {"6 reused"})) << again.out << again.err;
}

TEST_F(References, OfPythonAreMadeWhileGpusMeasure) {
  NEEDS_NUMPY();
  python("import time; time.sleep(0.3); return inputs['x'] * problem['f']");
  const std::string config = sandbox_.write(
      "scale.json", R"({"templates": ["scale"], "problems": ["1000", "2000", "3000"])" + kNoFinals + "}");
  std::vector<std::string> arguments = sweep_with(config, "slow");
  arguments.insert(arguments.end(), {"--gpus", "0,1"});
  const Finished finished = sandbox_.run(arguments);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 18);
}

TEST_F(References, OfPythonThatChangeAreOtherMeasurements) {
  NEEDS_NUMPY();
  EXPECT_EQ(sweep(python("return inputs['x'] * problem['f']")).code, 0);
  EXPECT_EQ(sweep(python("return problem['f'] * inputs['x']")).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 12);
}

TEST_F(References, OfPythonThatFailAreReportedWithTheirPlace) {
  NEEDS_NUMPY();
  expect_refused(python("raise ValueError('no such thing')"),
                 {"ref.py", "line 4", "ValueError", "no such thing"});
  expect_refused(python("return inputs['z']"), {"line 4", "KeyError"});
  expect_refused(python("return inputs['x'].reshape(10, 100)"), {"y", "(10, 100)", "(1000,)"});
  expect_refused(python("return 'text'"), {"y", "()"});
  expect_refused(python("return inputs['x'].astype('c8')"), {"y", "complex64"});
  expect_refused(python("return numpy.full(1000, numpy.inf)"), {"y", "infinite"});
  expect_refused(python("return {'z': inputs['x']}"), {"'y'"});
  expect_refused(python("import sys; sys.exit(3)"), {"SystemExit"});
  expect_refused(python("import os; os._exit(3)"), {"exited with 3"});
  expect_refused(python("return numpy.zeros(10**13)"), {"MemoryError"});
  expect_refused(python("import os; os.write(3, b'x' * 100); return inputs['x']"),
                 {"ref.py", "file descriptor 3"});
}

TEST_F(References, OfPythonWithoutTheFunctionAreReported) {
  NEEDS_NUMPY();
  const std::string config = python("return inputs['x']");
  sandbox_.write("scale/ref.py", "def another(): ...\n");
  expect_refused(config, {"scale", "no function"});
  sandbox_.write("scale/ref.py", "def scale(:\n");
  expect_refused(config, {"SyntaxError"});
}

TEST_F(References, OfPythonHaveADeadline) {
  NEEDS_NUMPY();
  sandbox_.write("scale/ref.py", "def scale(inputs, problem):\n    while True: pass\n");
  expect_refused(space(R"({"python": "ref.py", "function": "scale", "timeout_s": 1.5})"), {"1.5 s"});
}

TEST_F(References, OfPythonAreNotMadeAfterAnInterrupt) {
  NEEDS_NUMPY();
  python("return inputs['x']");
  const std::string config =
      sandbox_.write("scale.json", R"({"templates": ["scale"], "problems": ["400000000"])" + kNoFinals + "}");
  const std::filesystem::path tmp = sandbox_.folder() / "tmp";
  std::filesystem::create_directory(tmp);
  const pid_t process =
      sandbox_.start(sweep_with(config, "none", 3), [&] { ::setenv("TMPDIR", tmp.c_str(), 1); });
  const auto is_writing = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tmp))
      if (entry.path().extension() == ".npy") return true;
    return false;
  };
  ASSERT_TRUE(eventually(is_writing));
  ::kill(process, SIGINT);
  const Finished finished = sandbox_.wait(process);
  EXPECT_EQ(finished.code, 130) << finished.err;
  EXPECT_TRUE(rows_of(sandbox_).empty()) << "nothing was measured";
}

TEST_F(References, OfPythonReachNothingElse) {
  NEEDS_NUMPY();
  sandbox_.write("secret", "42");
  const std::string secret = (sandbox_.folder() / "secret").string();
  expect_refused(python("open('" + secret + "').read()"), {"[Errno", "secret"});
  expect_refused(python("open('" + secret + "', 'w')"), {"[Errno", "secret"});
  expect_refused(python("import socket; socket.socket()"), {"PermissionError"});
  expect_refused(python("import os; os.fork()"), {"PermissionError"});
  expect_refused(python("import os; os.kill(os.getppid(), 9)"), {"PermissionError"});
  std::ifstream kept(secret);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "42");
}

TEST_F(References, OfAPythonThatIsNotThereAreReported) {
  const std::string config = python("return inputs['x']");
  const char* const path = std::getenv("TILETUNE_PYTHON");
  const std::string before = path == nullptr ? "" : path;
  ::setenv("TILETUNE_PYTHON", "/nowhere/python3", 1);
  expect_refused(config, {"/nowhere/python3", "TILETUNE_PYTHON", "NumPy"});
  before.empty() ? ::unsetenv("TILETUNE_PYTHON") : ::setenv("TILETUNE_PYTHON", before.c_str(), 1);
}

TEST_F(References, MayBeWhatConfigurationsAgreeOn) {
  const Finished finished = sweep(space(R"({"consensus": 2})"));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
}

TEST_F(References, AConfigurationThatCrashesHasNoPartInTheReference) {
  const Finished finished = sweep(space(R"({"consensus": 2})"), "candidate_crash", 1);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
}

TEST_F(References, MayBeAConfigurationOfAnotherTemplate) {
  for (const char* folder : {"operations/scale", "plain", "tuned"})
    std::filesystem::create_directories(sandbox_.folder() / folder);
  Json other = Json::parse(with(with(kManifest, "@VALUES@", ""), "@REFERENCE@", R"("none")"));
  Json operation = other["operation"];
  operation["summary"] = "y = f x";
  operation["reference"] = {{"template", "plain"}, {"parameters", {{"THREADS", 64}}}};
  sandbox_.write("operations/scale/operation.json", operation.dump());
  const auto write_template = [&](const std::string& name, const std::string& kernel) {
    Json manifest = other;
    manifest["name"] = name;
    manifest["operation"] = "scale";
    sandbox_.write(name + "/template.json", manifest.dump());
    sandbox_.write(name + "/kernel.cuh", kernel);
  };
  write_template("plain", kKernel);
  write_template("tuned", kKernel);
  const std::string both =
      sandbox_.write("both.json", R"({"templates": ["tuned"], "problems": [1000])" + kNoFinals + "}");
  const Finished finished = sweep(both);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
  // What it is compiled into is part of the key.
  write_template("plain", std::string(kKernel) + "// a comment changes nothing\n");
  EXPECT_EQ(sweep(both).code, 0);
  write_template("plain", with(kKernel, "f * x[i]", "f * x[i] + 0.0f * x[0]"));
  EXPECT_EQ(sweep(both).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 12);
  write_template("plain", "this does not compile");
  EXPECT_EQ(sweep(both).code, 1);
  write_template("plain", kKernel);
  operation["reference"]["parameters"] = {{"THREADS", 63}};
  sandbox_.write("operations/scale/operation.json", operation.dump());
  EXPECT_EQ(sweep(both).code, 0) << "a value that the template does not list may be chosen";
  operation["reference"] = {{"template", "nothing"}};
  sandbox_.write("operations/scale/operation.json", operation.dump());
  EXPECT_EQ(sweep(both).code, 2);
}

TEST_F(References, WithoutEnoughConfigurationsThereIsNoConsensus) {
  const std::string config = space(R"({"consensus": 16})");
  expect_refused(config, {"16", "6 configurations", "1000"});
  const Finished check = sandbox_.run({"check", config});
  EXPECT_EQ(check.code, 1) << check.err;
  EXPECT_TRUE(carries(check.out, {"error: ", "/operation", "16", "6 configurations"})) << check.out;
}

TEST_F(References, FilesAreCheckedBeforeTheSweep) {
  const std::string config = space(R"({"npy": {"y": "y.npy"}})", R"(, "values": {"npy": "x.npy"})");
  sandbox_.write("scale/x.npy", "no array");
  const Finished finished = sweep(config);
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(carries(finished.err, {"x.npy", "/operation/buffers/0/values"})) << finished.err;
}

/// What an .npy file of 1000 f32 begins with.
std::string npy_start() {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }" + std::string(57, ' ') + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
}

TEST_F(References, AFileThatChangesDuringTheSweepIsNotRead) {
  const std::string config = space(R"({"npy": {"y": "y.npy"}})", R"(, "values": {"npy": "x.npy"})");
  sandbox_.write("scale/x.npy", npy_start() + std::string(4000, '\0'));
  sandbox_.write("scale/y.npy", npy_start() + std::string(4000, '\0'));
  const Finished finished = sweep(config, "appends");
  EXPECT_TRUE(carries(finished.err, {"scale/x.npy", "changed"})) << finished.err;
  const std::vector<Trial> rows = rows_of(sandbox_);
  EXPECT_EQ(kernels_with(rows, Outcome::refused), 6);
  EXPECT_TRUE(carries(rows.front().reason, {"scale/x.npy"}));
}

TEST_F(References, FilesThatChangeAreOtherMeasurements) {
  const std::string start = npy_start();
  const std::string config = space(R"({"npy": {"y": "y.npy"}})", R"(, "values": {"npy": "x.npy"})");
  sandbox_.write("scale/x.npy", start + std::string(4000, '\0'));
  sandbox_.write("scale/y.npy", start + std::string(4000, '\0'));
  EXPECT_EQ(sweep(config).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
  EXPECT_EQ(sweep(config).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 6);
  sandbox_.write("scale/y.npy", start + std::string(4000, '\1'));
  EXPECT_EQ(sweep(config).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 12);
}

TEST_F(References, OutputsAreKeptByRow) {
  std::vector<std::string> arguments = sweep_with(space(R"({"consensus": 2})"), "none");
  arguments.insert(arguments.end(), {"--outputs", "out"});
  const Finished finished = sandbox_.run(arguments);
  EXPECT_EQ(finished.code, 0) << finished.err;
  std::size_t kept = 0;
  for (const Trial& row : rows_of(sandbox_)) {
    if (row.kind != "kernel") continue;
    const auto file = sandbox_.folder() / "out" / row.key / "y.npy";
    EXPECT_EQ(std::filesystem::file_size(file) % 64, 4000 % 64) << file;
    ++kept;
  }
  EXPECT_EQ(kept, 6U);
  const auto entries = std::filesystem::directory_iterator(sandbox_.folder() / "out");
  EXPECT_EQ(std::distance(entries, std::filesystem::directory_iterator()), 6);
}

}  // namespace references_test
}  // namespace tiletune
