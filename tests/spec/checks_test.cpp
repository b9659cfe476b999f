// The checks of an operation: problems that configurations must compute right beside the one that is timed.

#include "fixture.h"

namespace tiletune {
namespace checks_test {

class Checks : public SpecTest {
 protected:
  TemplateSpec with(const std::string& checks) const {
    return load_patched(softmax(), R"({"operation": {"checks": )" + checks + "}}");
  }
  void expect_checks_fault(const std::string& checks, const std::string& pointer,
                           const std::vector<std::string>& parts) const {
    const UserError error = user_error_of([&] { with(checks); });
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << checks;
    EXPECT_EQ(error.where().pointer, "/operation/checks" + pointer) << checks;
  }
};

TEST_F(Checks, HaveProblemsValuesAndAScale) {
  const TemplateSpec spec = with(R"--([{"name": "large", "problems": [["7", "columns"], ["16", "1024"]],
      "values": {"in": "uniform(-100, 100)"}, "scale": "columns"}, {"name": "small", "problems": [["1", "1"]]}])--");
  ASSERT_EQ(spec.operation.checks.size(), 2U);
  const OperationCheck& check = spec.operation.checks[0];
  EXPECT_EQ(check.name, "large");
  ASSERT_EQ(check.problems.size(), 2U);
  EXPECT_EQ(check.problems[0][1].text, "columns");
  ASSERT_EQ(check.values.size(), 1U);
  EXPECT_EQ(check.values[0].first, "in");
  EXPECT_EQ(check.values[0].second.distribution, Distribution::uniform);
  EXPECT_EQ(check.scale.text, "columns");
  EXPECT_TRUE(spec.operation.checks[1].values.empty());
}

TEST_F(Checks, AreNoPartOfWhatAnOperationIs) {
  EXPECT_EQ(with(R"--([{"name": "small", "problems": [["1", "1"]]}])--").operation.definition,
            load_patched(softmax(), "{}").operation.definition);
}

TEST_F(Checks, ThatCannotBeMeantAreRefused) {
  expect_checks_fault(R"--([{"name": "a b", "problems": [["1", "1"]]}])--", "/0/name", {"'a b'"});
  expect_checks_fault(R"--([{"name": "a"}])--", "/0", {"problems"});
  expect_checks_fault(R"--([{"name": "a", "problems": [["1"]]}])--", "/0/problems/0",
                      {"1 size", "2 dimensions", "columns"});
  expect_checks_fault(
      R"--([{"name": "a", "problems": [["1", "1"]]}, {"name": "a", "problems": [["1", "1"]]}])--", "/1/name",
      {"'a'"});
  expect_checks_fault(R"--([{"name": "a", "problems": [["1", "1"]], "values": {"sums": "constant(1)"}}])--",
                      "/0/values/sums", {"'sums'", "input"});
  expect_checks_fault(R"--([{"name": "a", "problems": [["1", "1"]], "values": {"in": {"npy": "x.npy"}}}])--",
                      "/0/values/in", {"spread"});
  expect_checks_fault(R"--([{"name": "a", "problems": [["1", "1"]], "values": {"in": "wide(1)"}}])--",
                      "/0/values/in", {"'wide'", "spread(a, b)"});
}

TEST_F(Checks, NeedAReferenceThatIsComputed) {
  Json document = softmax();
  document["operation"]["reference"] = "none";
  document["operation"]["checks"] = Json::parse(R"--([{"name": "a", "problems": [["1", "1"]]}])--");
  const UserError refused = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(refused.where().pointer, "/operation/checks");
}

TEST_F(Checks, LooseTolerancesAreRefusedUnlessAllowed) {
  const auto load = [&](const char* patch, bool loose) {
    LoadOptions options = options_;
    options.allow_loose = loose;
    return load_template(write_manifest(tile(), patch), options);
  };
  const UserError error = user_error_of([&] { load(R"({"tolerance_factor": 1e9})", false); });
  EXPECT_EQ(error.where().pointer, "/tolerance_factor");
  EXPECT_TRUE(carries(error.message() + error.remedy(), {"1000000000", "16", "--allow-loose"}));
  EXPECT_EQ(load(R"({"tolerance_factor": 1e9})", true).tolerance_factor, 1e9);
  EXPECT_EQ(load(R"({"tolerance_factor": 16})", false).tolerance_factor, 16);
  const UserError relative =
      user_error_of([&] { load_patched(softmax(), R"({"operation": {"tolerance": {"relative": 0.5}}})"); });
  EXPECT_TRUE(carries(relative.message(), {"row_softmax", "0.5", "0.1"}));
}

}  // namespace checks_test
}  // namespace tiletune
