// What a worker gets to compute what the outputs of a problem are compared with.

#include "tune/engine_fixture.h"

namespace tiletune {
namespace references_test {

/// Sweeps of four kernels that copy, with the reference that a test says.
class References : public Engine {
 protected:
  static constexpr const char* kReference = R"({"source": "reference.cu", "kernel": "copy_reference",
                                                "grid": ["1"], "block": [32]})";

  void write(const std::string& reference, const std::string& source = "", int values = 4) {
    write_file(folder_ / "wide/template.json", R"({"name": "wide", "summary": "copies", "operation": {
        "name": "copy", "dimensions": ["n"], "buffers": [
          {"name": "in", "type": "f32", "elements": "n", "role": "in"},
          {"name": "out", "type": "f32", "elements": "n", "role": "out"}],
        "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy", "reference": )" +
                                                   reference + R"(},
      "source": "kernel.cu", "kernel": "wide", "macros": {"X": "X"},
      "parameters": [{"name": "X", "values": )" + one_to(values) +
                                                   R"(, "meaning": "blocks"}],
      "launch": {"grid": ["X"], "block": [32]}, "arguments": [{"buffer": "in"}, {"buffer": "out"}]})");
    write_file(folder_ / "wide/kernel.cu",
               "extern \"C\" __global__ void wide(const float* in, float* out) "
               "{ out[threadIdx.x] = in[threadIdx.x + X]; }");
    write_file(folder_ / "wide/reference.cu", source);
    problems(R"([{"n": 64}])");
  }

  /// That no kernel runs, and each has a row.
  void expect_refused(const std::string& why, std::size_t rows = 4) {
    const ScriptedEvaluator& gpu = add_gpu();
    sweep();
    EXPECT_TRUE(gpu.measured.empty());
    std::multiset<Outcome> refused;
    for (std::size_t i = 0; i < rows; ++i) refused.insert(Outcome::refused);
    EXPECT_EQ(outcomes(), refused);
    EXPECT_NE(observer_.notes.find(why), std::string::npos) << observer_.notes;
  }

  static std::string reference_kernel(const std::string& rest) {
    return "extern \"C\" __global__ void copy_reference" + rest;
  }
};

TEST_F(References, DoesNotCompile) {
  write(kReference, "no reference");
  expect_refused("does not compile");
}

TEST_F(References, TakesOtherArguments) {
  write(kReference, reference_kernel("(const double* in, double* out, int n) { if (n) *out = *in; }"));
  expect_refused("takes 3");
}

TEST_F(References, TakesArgumentsOfOtherSizes) {
  write(kReference, reference_kernel("(const double* in, float out) {}"));
  expect_refused("argument 2 of the kernel has 4 B");
}

TEST_F(References, OfAKernelIsWhatTheWorkerGetsAndPartOfTheRowsKeys) {
  const auto sweep_with = [&](const std::string& body) {
    write(kReference, reference_kernel("(const double* in, double* out) " + body));
    const ScriptedEvaluator& gpu = add_gpu();
    sweep();
    return gpu.given;
  };
  for (const char* body : {"{ *out = *in; }", "{ *out = 2 * *in; }"}) {
    const std::vector<WorkloadKernels> given = sweep_with(body);
    ASSERT_EQ(given.size(), 1U);
    ASSERT_EQ(given[0].operation.size(), 1U);
    EXPECT_EQ(given[0].operation[0]->kernel_symbols, std::vector<std::string>{"copy_reference"});
    EXPECT_TRUE(given[0].candidates.empty());
  }
  EXPECT_EQ(rows().size(), 8U) << "four kernels with each";
  EXPECT_TRUE(sweep_with("{ *out = 2 * *in; } // the same").empty());
  EXPECT_EQ(rows().size(), 8U);
}

TEST_F(References, OfSomeThatAgreeAreKernelsThatDiffer) {
  write(R"({"consensus": 2})");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  ASSERT_EQ(gpu.given.size(), 1U);
  const std::vector<MeasureRequest>& candidates = gpu.given[0].candidates;
  EXPECT_EQ(gpu.given[0].agreeing, 2);
  ASSERT_GE(candidates.size(), 2U);
  EXPECT_LE(candidates.size(), 4U);
  std::set<std::string> cubins;
  for (const MeasureRequest& one : candidates) {
    EXPECT_EQ(one.ticket, cubins.size() + 1);
    EXPECT_TRUE(cubins.insert(one.cubin).second);
  }
  EXPECT_EQ(outcomes().count(Outcome::ok), 4U);
}

TEST_F(References, OfMoreThatAgreeThanThereAreRefuseTheProblem) {
  write(R"({"consensus": 5})");
  expect_refused("5 configurations agree");
}

TEST_F(References, OfSomeThatAgreeNeedSomeThatCompile) {
  write(R"({"consensus": 2})");
  write_file(folder_ / "wide/kernel.cu",
             "#if X > 1\nno such thing\n#endif\n"
             "extern \"C\" __global__ void wide(const float* in, float* out) {}");
  const ScriptedEvaluator& gpu = add_gpu();
  sweep();
  EXPECT_TRUE(gpu.measured.empty());
  EXPECT_EQ(outcomes(), (std::multiset<Outcome>{Outcome::refused, Outcome::compile_failed,
                                                Outcome::compile_failed, Outcome::compile_failed}));
  EXPECT_NE(observer_.notes.find("only 1 of those"), std::string::npos) << observer_.notes;
}

TEST_F(References, AreMadeOnceForAllGpus) {
  write(R"({"consensus": 2})");
  const ScriptedEvaluator& first = add_gpu();
  const ScriptedEvaluator& second = add_gpu();
  sweep();
  ASSERT_EQ(first.given.size() + second.given.size(), first.prepared.size() + second.prepared.size());
  if (first.given.empty() || second.given.empty()) return;
  EXPECT_EQ(first.given[0].candidates[0].cubin, second.given[0].candidates[0].cubin);
}

}  // namespace references_test
}  // namespace tiletune
