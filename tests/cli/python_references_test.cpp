// What an untrusted Python function can reach and break, through the executable.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "carries.h"
#include "cli/fake_sweep.h"
#include "cli/needs_numpy.h"
#include "cli/process.h"
#include "cli/small_disk.h"

namespace tiletune {
namespace python_references_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A variable of the environment, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// What numpy.save() writes.
std::string npy(const std::string& type, std::size_t elements, const std::string& bytes) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(elements) + ",), }";
  header.append(117 - header.size(), ' ') += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + bytes;
}

class PythonReferences : public testing::Test {
 protected:
  void SetUp() override { NEEDS_NUMPY(); }

  /// The template 'scale' with that function; `input` is more of what its input is.
  std::string config(const std::string& body, const Json& problems = {"1000"},
                     const Json& input = Json::object()) const {
    fs::create_directories(sandbox_.folder() / "scale");
    sandbox_.write("scale/ref.py",
                   "import ctypes, json, numpy, os, sys\n\ndef scale(inputs, problem):\n    " + body + "\n");
    sandbox_.write("scale/kernel.cu",
                   "extern \"C\" __global__ void scale(const void* x, float* y, int n) {\n"
                   "  const int i = blockIdx.x * THREADS + threadIdx.x;\n"
                   "  if (i < n) y[i] = x != nullptr;\n"
                   "}\n");
    Json manifest = Json::parse(R"--({
      "name": "scale", "summary": "y = x",
      "operation": {
        "dimensions": ["n"],
        "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                    {"name": "y", "type": "f32", "elements": "n", "role": "out"}],
        "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
        "reference": {"python": "ref.py", "function": "scale", "timeout_s": 30}},
      "source": "kernel.cu", "kernel": "scale", "macros": {"THREADS": "THREADS"},
      "parameters": [{"name": "THREADS", "values": [128, 256]}],
      "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
      "arguments": [{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}]})--");
    manifest["operation"]["buffers"][0].update(input);
    sandbox_.write("scale/template.json", manifest.dump());
    const Json json = {
        {"templates", {"scale"}}, {"problems", problems}, {"measure", {{"finals", {{"configurations", 0}}}}}};
    return sandbox_.write("scale.json", json.dump());
  }

  Finished check(const std::string& file) const { return sandbox_.run({"check", file, "--quiet"}); }
  /// The function fails, which check says with these words.
  void expect_failure(const std::string& file, const std::vector<std::string>& parts) const {
    const Finished finished = check(file);
    EXPECT_EQ(finished.code, 1) << finished.err;
    EXPECT_TRUE(carries(finished.out, parts)) << finished.out << finished.err;
    EXPECT_FALSE(carries(finished.out, {"/answer"})) << finished.out;
  }
  void expect_success(const std::string& file) const {
    const Finished finished = check(file);
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  }

  Sandbox sandbox_;
};

TEST_F(PythonReferences, AreConfinedUnderAProfiler) {
  const Variable profiler("CUDA_INJECTION64_PATH", "/nowhere/libinjection.so");
  sandbox_.write("secret", "42");
  expect_failure(config("open('" + (sandbox_.folder() / "secret").string() + "').read()"), {"[Errno"});
}

TEST_F(PythonReferences, TakeNoModulesFromTheWorkingFolder) {
  const std::string mark = (sandbox_.folder() / "it_ran").string();
  for (const char* module :
       {"numpy.py", "sitecustomize.py", "modules/numpy.py", "modules/sitecustomize.py"}) {
    fs::create_directories((sandbox_.folder() / module).parent_path());
    sandbox_.write(module, "open('" + mark + "', 'w')\n");
  }
  const std::string config_file = config("return inputs['x']");
  for (const char* path : {"", ":", "modules", "./modules:/nowhere", "/nowhere::modules"}) {
    const Variable modules("PYTHONPATH", path);
    expect_success(config_file);
    EXPECT_FALSE(fs::exists(mark)) << path;
  }
}

TEST_F(PythonReferences, ReadNeitherTheSystemsFilesNorTheEnvironment) {
  const Variable secret("TILETUNE_SECRET", "7f3a");
  expect_failure(config("open('/etc/shadow').read()"), {"[Errno"});
  expect_failure(config("open('/etc/passwd').read()"), {"[Errno"});
  expect_failure(config("open('/proc/%d/environ' % os.getppid()).read()"), {"[Errno"});
  expect_failure(config("os.listdir('/sys')"), {"[Errno"});
  expect_failure(config("os.listdir('/opt')"), {"[Errno"});
  expect_failure(
      config("raise ValueError(os.environ.get('TILETUNE_SECRET', 'none') + os.environ['PATH'][:1])"),
      {"ValueError: none/"});
  expect_success(
      config("return numpy.linalg.svd(numpy.random.default_rng(1).random((50, 50)))[1].max() * "
             "numpy.ones(1000)"));
}

TEST_F(PythonReferences, MakeNoFilesBeyondTheirOutputs) {
  expect_failure(config("os.memfd_create('x')"), {"PermissionError"});
  expect_failure(config("path = json.load(open(sys.argv[1]))['outputs']['y']['path']; "
                        "open(path, 'r+b').write(b'x' * (3 << 20))"),
                 {"OSError", "too large"});
  expect_failure(config("raise ValueError(ctypes.CDLL(None).prctl(1, 0))"), {"ValueError: -1"});
  expect_failure(config("ctypes.string_at(0)"), {"signal 11"});
}

TEST_F(PythonReferences, WriteTheirOwnAnswersInVain) {
  const auto answers = [&](const std::string& text) {
    return config("open(json.load(open(sys.argv[1]))['answer'], 'r+').write(" + text + "); os._exit(0)");
  };
  for (const char* text : {R"('{"reason": 5}')", R"('{"done": "yes"}')", R"('[3]')", R"('[' * 60000)",
                           R"('x' * 1000000)", R"('{"reason": "\\ud800"}')"})
    expect_failure(answers(text), {"exited with 0"});
  expect_failure(config("task = json.load(open(sys.argv[1])); open(task['outputs']['y']['path'], 'w'); "
                        "json.dump({'reason': '', 'remedy': ''}, open(task['answer'], 'r+')); os._exit(0)"),
                 {"outputs"});
  std::vector<std::string> arguments = sweep_with(answers(R"('{"done": "yes"}')"), "none");
  const Finished swept = sandbox_.run(arguments);
  EXPECT_EQ(swept.code, 1) << swept.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::refused), 2);
}

TEST_F(PythonReferences, MayPrintMoreThanAPipeHolds) {
  expect_success(
      config("print('x' * 3000000); print('y' * 300000, file=sys.stderr, flush=True); "
             "return inputs['x']"));
  expect_failure(config("print('first words'); print('x' * 300000); os._exit(3)"), {"first words"});
}

TEST_F(PythonReferences, GetNumbersOfTypesThatNumPyLacks) {
  const std::string body = "raise ValueError(str(inputs['x'].dtype) + str(inputs['x'].tolist()))";
  const auto from_file = [&](const std::string& type, const std::string& stored, const std::string& bytes) {
    const std::size_t each = type == "bf16" ? 2 : 1;
    fs::create_directories(sandbox_.folder() / "scale");
    sandbox_.write("scale/x.npy", npy(stored, bytes.size() / each, bytes));
    return config(body, Json::array({std::to_string(bytes.size() / each)}),
                  {{"type", type}, {"values", {{"npy", "x.npy"}}}});
  };
  expect_failure(from_file("bf16", "<u2", std::string("\x80\x3f\x40\xc0", 4)), {"float32[1.0, -3.0]"});
  expect_failure(from_file("bf16", "|V2", std::string("\x80\x3f\x40\xc0", 4)), {"float32[1.0, -3.0]"});
  expect_failure(from_file("e4m3", "|u1", std::string("\x00\x01\x08\x38\xb8\x7e\x7f", 7)),
                 {"float32[0.0, 0.001953125, 0.015625, 1.0, -1.0, 448.0, nan]"});
  expect_failure(from_file("e5m2", "|V1", std::string("\x80\x01\x04\x3c\xbc\x7b\xfc\x7d", 8)),
                 {"float32[-0.0, 1.52587890625e-05, 6.103515625e-05, 1.0, -1.0, 57344.0, -inf, nan]"});
  expect_failure(config(body, {"2"}, {{"type", "e4m3"}, {"values", "constant(2)"}}), {"float32[2.0, 2.0]"});
  expect_failure(config(body, {"2"}, {{"type", "i8"}, {"values", "constant(2)"}}), {"int8[2, 2]"});
}

TEST_F(PythonReferences, AreOtherMeasurementsWhenTheirModulesChange) {
  const std::string file = config("import helper, package.part; return helper.factor * inputs['x']");
  fs::create_directories(sandbox_.folder() / "scale/package/.hidden");
  sandbox_.write("scale/helper.py", "factor = 2\n");
  sandbox_.write("scale/package/part.py", "");
  const auto rows_after = [&] {
    const Finished swept = sandbox_.run(sweep_with(file, "none"));
    EXPECT_EQ(swept.code, 0) << swept.err;
    return kernels_with(rows_of(sandbox_), Outcome::ok);
  };
  EXPECT_EQ(rows_after(), 2);
  sandbox_.write("scale/notes.txt", "it imports no text");
  sandbox_.write("scale/package/.hidden/module.py", "");
  EXPECT_EQ(rows_after(), 2);
  sandbox_.write("scale/helper.py", "factor = 3\n");
  EXPECT_EQ(rows_after(), 4);
  sandbox_.write("scale/package/part.py", "x = 1\n");
  EXPECT_EQ(rows_after(), 6);
  for (int i = 0; i < 1000; ++i) sandbox_.write("scale/package/m" + std::to_string(i) + ".py", "");
  const Finished swept = sandbox_.run(sweep_with(file, "none"));
  EXPECT_EQ(swept.code, 2);
  EXPECT_TRUE(carries(swept.err, {"1000", "/operation/reference"})) << swept.err;
}

TEST_F(PythonReferences, LeaveNoInputsBehind) {
  const SmallDisk disk(sandbox_.folder() / "disk", "2200k");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  const Variable temporary("TMPDIR", disk.folder());
  // 400 kB for inputs and 800 kB for outputs, which are kept for the GPU.
  const std::string file = config("return inputs['x'] * numpy.ones(1)", {"100000", "100001"});
  const Finished swept = sandbox_.run(sweep_with(file, "none"));
  EXPECT_EQ(swept.code, 0) << swept.out << swept.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 4);
}

/// A Python of that name which is a script for sh.
std::string python_of(const Sandbox& sandbox, const std::string& script) {
  const std::string path = sandbox.write("python", "#!/bin/sh\n" + script);
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_F(PythonReferences, NeedAPythonThatIsLookedForOnce) {
  const Variable named("TILETUNE_PYTHON",
                       python_of(sandbox_, "echo run >>count; echo no such luck; exit 1\n"));
  const Finished finished = check(config("return inputs['x']", {"1000", "2000", "3000"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"no such luck"})) << finished.out;
  std::ifstream count(sandbox_.folder() / "count");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(count), {}), "run\n");
}

TEST_F(PythonReferences, TakeAPythonThatWarns) {
  const char* const python = std::getenv("TILETUNE_PYTHON");
  const Variable named(
      "TILETUNE_PYTHON",
      python_of(sandbox_, fmt::format("echo '{{\"a\": 1}} is deprecated' >&2; '{}' \"$@\"; echo late\n",
                                      python != nullptr ? python : "python3")));
  expect_success(config("return inputs['x']"));
}

TEST_F(PythonReferences, AreReadByWorkersOfAllModelsOfGpus) {
  std::vector<std::string> arguments = sweep_with(config("return inputs['x']", {"1000", "2000"}), "none");
  arguments.insert(arguments.end(), {"--gpu-worker", "{files}", "--gpus", "all"});
  const Finished swept = sandbox_.run(arguments);
  EXPECT_EQ(swept.code, 0) << swept.out << swept.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 2 * 4);
}

}  // namespace python_references_test
}  // namespace tiletune
