// Inputs whose values a kernel of the operation computes.

#include "fixture.h"

namespace tiletune {
namespace input_kernels_test {

class InputKernels : public SpecTest {
 protected:
  void SetUp() override {
    SpecTest::SetUp();
    write("kernel_templates/softmax/fill.cu", "extern \"C\" __global__ void fill(float* in);\n");
  }

  static Json kernel() {
    return Json::parse(R"({"source": "fill.cu", "kernel": "fill", "grid": ["rows", 2], "block": [256],
                           "arguments": [{"buffer": "out"}, {"buffer": "in"}, {"scalar": "stride", "type": "i32"}]})");
  }
  /// The softmax template, whose buffer gets such values.
  Operation operation_with(const Json& values, std::size_t buffer = 0,
                           const std::string& patch = "{}") const {
    Json document = softmax();
    document["operation"]["buffers"][buffer]["values"] = values;
    return load_patched(document, patch).operation;
  }
  void expect_fault_of(const std::string& patch, const std::string& pointer,
                       const std::vector<std::string>& parts) const {
    Json values = kernel();
    values.merge_patch(Json::parse(patch));
    const UserError error = user_error_of([&] { operation_with(values); });
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << patch;
    EXPECT_EQ(error.where().pointer, "/operation/buffers/0/values" + pointer) << patch;
    EXPECT_FALSE(error.remedy().empty()) << patch;
  }
};

TEST_F(InputKernels, AreReadLikeAReferenceKernel) {
  const Operation operation = operation_with(kernel());
  ASSERT_EQ(operation.input_kernels.size(), 1U);
  const OperationKernel& kernel = operation.input_kernels.front();
  EXPECT_EQ(kernel.input, "in");
  EXPECT_EQ(kernel.source, root_ / "kernel_templates/softmax/fill.cu");
  EXPECT_EQ(kernel.folder, root_ / "kernel_templates/softmax");
  EXPECT_EQ(kernel.launch.kernel, "fill");
  EXPECT_EQ(kernel.launch.grid[1].text, "2");
  EXPECT_EQ(kernel.launch.block[0].text, "256");
  ASSERT_EQ(kernel.launch.arguments.size(), 3U);
  EXPECT_EQ(kernel.launch.arguments[0].name, "out") << "a buffer that follows";
  EXPECT_EQ(operation.reference->input, "");
}

TEST_F(InputKernels, LeaveTheBufferZerosBeforeTheyRun) {
  const Operation operation = operation_with(kernel());
  ASSERT_TRUE(operation.buffers[0].values);
  EXPECT_EQ(operation.buffers[0].values->distribution, Distribution::constant);
  EXPECT_EQ(operation.buffers[0].values->arguments[0].text, "0");
}

TEST_F(InputKernels, FillInoutBuffersToo) {
  EXPECT_EQ(operation_with(kernel(), 1).input_kernels.front().input, "out");
}

TEST_F(InputKernels, OfABadFormAreRefused) {
  expect_fault_of(R"({"source": "none.cu"})", "/source", {"'none.cu'"});
  expect_fault_of(R"({"source": "../../x.cu"})", "/source", {"leaves"});
  expect_fault_of(R"({"kernel": "a b"})", "/kernel", {"a b"});
  expect_fault_of(R"({"kernel": null})", "", {"'kernel'"});
  expect_fault_of(R"({"grid": null})", "", {"'grid'"});
  expect_fault_of(R"({"block": [1, 2, 3, 4]})", "/block", {"4"});
  expect_fault_of(R"({"arguments": null})", "", {"'arguments'"});
  expect_fault_of(R"({"npy": "in.npy"})", "/npy", {"'npy'"});
  expect_fault_of(R"({"function": "f"})", "/function", {"'function'"});
  expect_fault_of(R"({"source": null, "kernel": null, "grid": null, "block": null, "arguments": null})", "",
                  {"'npy'"});
}

TEST_F(InputKernels, ArePassedInputsAndTheirOwnBuffer) {
  expect_fault_of(R"({"arguments": [{"buffer": "im"}]})", "/arguments/0/buffer", {"'im'", "'in'"});
  expect_fault_of(R"({"arguments": [{"buffer": "in"}, {"buffer": "sums"}]})", "/arguments/1", {"'sums'"});
  expect_fault_of(R"({"arguments": [{"buffer": "out"}]})", "/arguments", {"'in'"});
  expect_fault_of(R"({"arguments": [{"buffer": "in"}, {"scalar": "THREADS", "type": "i32"}]})",
                  "/arguments/1/scalar", {"'THREADS'"});
}

TEST_F(InputKernels, OfAnOutputAreRefused) {
  const UserError error = user_error_of([&] { operation_with(kernel(), 2); });
  EXPECT_EQ(error.where().pointer, "/operation/buffers/2/values");
}

TEST_F(InputKernels, HaveNoReferenceInPython) {
  write("kernel_templates/softmax/reference.py", "def softmax(inputs, problem): ...\n");
  Json document = softmax();
  document["operation"]["buffers"][0]["values"] = kernel();
  document["operation"]["reference"] = {{"python", "reference.py"}, {"function", "softmax"}};
  const UserError error = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(error.where().pointer, "/operation/reference/python");
  EXPECT_TRUE(carries(error.message(), {"'in'", "kernel"}));
  EXPECT_TRUE(carries(error.remedy(), {"reference"}));
}

}  // namespace input_kernels_test
}  // namespace tiletune
