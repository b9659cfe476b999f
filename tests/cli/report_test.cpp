// `tiletune report` as a command; tools/check_report looks at its pages in a browser.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/expect_error.h"
#include "cli/process.h"
#include "store/database.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace report_test {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Report, WritesAPageOfTheRowsThatMatch) {
  const Sandbox sandbox;
  Trial other = timed_trial("b", 200, 1);
  other.problem = "128x128x128";
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write)
      .record_all({timed_trial("a", 100, 1), other});
  const Finished run = sandbox.run({"report", "--db", "rows.db", "--problem", "64x64x64"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(run.err.starts_with("report.html (")) << run.err;
  EXPECT_TRUE(carries(run.err, {"1 configuration in 1 comparable"}));
  const std::string page = text_of(sandbox.folder() / "report.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(carries(page, {"tiletune report --db rows.db --problem 64x64x64"}));
  EXPECT_EQ(page.find("128x128x128"), std::string::npos);
}

TEST(Report, SaysWhatTheLimitLeavesOut) {
  const Sandbox sandbox;
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write)
      .record_all({timed_trial("a", 100, 1), timed_trial("b", 200, 1), timed_trial("c", 300, 1)});
  const Finished run = sandbox.run({"report", "--db", "rows.db", "--limit", "1", "-o", "-"});
  EXPECT_TRUE(carries(run.err, {"1 configuration in 1 comparable", "2 slower", "(--limit)"}));
  EXPECT_TRUE(run.out.ends_with("</html>\n"));
}

TEST(Report, ErrorsNameThePlaceAndTheRemedy) {
  const Sandbox sandbox;
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write).record(timed_trial("a", 100, 1));
  expect_error(sandbox.run({"report", "--db", "none.db"}), kUserError, {"none.db", "no such"});
  expect_error(sandbox.run({"report", "--db", "rows.db", "--gpu", "A100"}), kNothingToDo,
               {"rows.db:", "no row", "tiletune import FILE --db rows.db"});
  expect_error(sandbox.run({"report", "--db", "rows.db", "--limit", "9999999999999999999999"}), kUserError,
               {"--limit:", "9999999999999999999999", "2^63 - 1"});
  expect_error(sandbox.run({"report", "--db", "rows.db", "--template", "of no row"}), kNothingToDo,
               {"rows.db", "no row"});
  expect_error(sandbox.run({"report", "--db", "rows.db", "-o", "rows.db"}), kUserError, {"rows.db"});
  expect_error(sandbox.run({"report", "--db", "rows.db", "-o", "/dev/null/a.html"}), kUserError, {"written"});
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "report.html"));
}

}  // namespace report_test
}  // namespace tiletune
