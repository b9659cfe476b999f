// What outputs are compared with: files, a function of Python, configurations that agree; and how closely.

#include "fixture.h"

namespace tiletune {
namespace reference_test {

class References : public SpecTest {
 protected:
  /// The softmax template with another reference.
  Operation operation_with(const std::string& reference, const std::string& more = "") const {
    return load_patched(softmax(), R"({"operation": {"reference": null}})", reference, more).operation;
  }
  TemplateSpec load_patched(const Json& document, const std::string& first, const std::string& reference,
                            const std::string& more) const {
    Json patched = document;
    patched.merge_patch(Json::parse(first));
    patched["operation"]["reference"] = Json::parse(reference);
    if (!more.empty()) patched.merge_patch(Json::parse(more));
    return SpecTest::load_patched(patched, "{}");
  }
  void expect_reference_fault(const std::string& reference, const std::string& pointer,
                              const std::vector<std::string>& parts) const {
    const UserError error = user_error_of([&] { operation_with(reference); });
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << reference;
    EXPECT_EQ(error.where().pointer, "/operation/reference" + pointer) << reference;
  }
};

TEST_F(References, InFilesNameEveryOutput) {
  const Operation operation = operation_with(R"({"npy": {"out": "out_{rows}.npy", "sums": null}})");
  ASSERT_EQ(operation.expected.size(), 2U);
  EXPECT_EQ(operation.expected[0].buffer, "out");
  EXPECT_EQ(operation.expected[0].npy->text, "out_{rows}.npy");
  EXPECT_EQ(operation.expected[1].npy.has_value(), false);
}

TEST_F(References, InFilesOfOtherNamesAreRefused) {
  expect_reference_fault(R"({"npy": {"out": "o.npy"}})", "/npy", {"sums", "null"});
  expect_reference_fault(R"({"npy": {"out": "o.npy", "sum": "s.npy"}})", "/npy/sum", {"'sum'", "sums"});
  expect_reference_fault(R"({"npy": {"out": null, "sums": null}})", "/npy", {"none"});
  expect_reference_fault(R"({"npy": {"in": "o.npy"}})", "/npy/in", {"'in'", "out"});
}

TEST_F(References, OfPythonAreAFileAndAFunction) {
  write("kernel_templates/softmax/reference.py", "def softmax(inputs, problem): ...\n");
  const Operation operation =
      operation_with(R"({"python": "reference.py", "function": "softmax", "timeout_s": 5})");
  ASSERT_TRUE(operation.python);
  EXPECT_EQ(operation.python->source.filename(), "reference.py");
  EXPECT_EQ(operation.python->function, "softmax");
  EXPECT_EQ(operation.python->timeout_s, 5);
  expect_reference_fault(R"({"python": "none.py", "function": "f"})", "/python", {"'none.py'"});
  expect_reference_fault(R"({"python": "../../x.py", "function": "f"})", "/python", {"leaves"});
  expect_reference_fault(R"({"python": "reference.py"})", "", {"function"});
  expect_reference_fault(R"({"python": "reference.py", "function": "f", "timeout_s": 0})", "/timeout_s",
                         {"0"});
}

TEST_F(References, MayBeWhatConfigurationsAgreeOn) {
  EXPECT_EQ(operation_with(R"({"consensus": 3})").consensus, 3);
  expect_reference_fault(R"({"consensus": 1})", "/consensus", {"1", "2"});
  expect_reference_fault(R"({"consensus": 2.5})", "/consensus", {"2.5"});
}

TEST_F(References, OfTwoKindsAreRefused) {
  expect_reference_fault(R"({"consensus": 3, "kernel": "softmax"})", "/kernel", {"kernel"});
}

TEST_F(References, ElementsMayHaveATolerance) {
  const Operation operation = operation_with(
      R"({"consensus": 2})", R"({"operation": {"tolerance": {"absolute": 1e-6, "relative": 1e-5}}})");
  ASSERT_TRUE(operation.tolerance);
  EXPECT_EQ(operation.tolerance->absolute, 1e-6);
  EXPECT_EQ(operation.tolerance->relative, 1e-5);
  const UserError error = user_error_of(
      [&] { operation_with(R"({"consensus": 2})", R"({"operation": {"tolerance": {"absolute": -1}}})"); });
  EXPECT_EQ(error.where().pointer, "/operation/tolerance/absolute");
}

TEST_F(References, InputsMayComeFromFiles) {
  const Operation operation = SpecTest::load_patched(softmax(), R"({"operation": {"buffers": [
        {"name": "in", "type": "f32", "elements": "rows", "role": "in", "values": {"npy": "in.npy"}},
        {"name": "out", "type": "f32", "elements": "rows", "role": "out"}],
        "options": null, "types": null},
        "types": null, "options": null, "macros": null,
        "arguments": [{"buffer": "in"}, {"buffer": "out"}]})")
                                  .operation;
  EXPECT_EQ(operation.buffers[0].values->npy->text, "in.npy");
}

}  // namespace reference_test
}  // namespace tiletune
