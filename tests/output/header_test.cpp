// The C++ header of the best configurations, as a compiler takes it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "output/export.h"
#include "output/size_check.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace header_test {

Trial best_of(const std::string& gpu, const std::string& problem, double median_us) {
  Trial row = timed_trial(gpu + problem, median_us, 0.1);
  row.gpu = gpu;
  row.gpu_uuid = "GPU-" + gpu;
  row.problem = problem;
  row.operation = "gemm";
  row.element_types = "f32";
  row.scalars = "alpha=1 beta=0";
  row.architecture = gpu == "A100" ? "sm_80" : "sm_90a";
  row.kernel_expression = gpu + " " + problem;
  row.launch = R"({"grid":[8,4,1],"block":[256,1,1],"dynamic_shared_bytes":1024})";
  row.dynamic_shared_bytes = 1024;
  return row;
}

std::string header_of(const std::filesystem::path& folder, const std::vector<Trial>& rows,
                      const std::string& name_space = kHeaderNamespace) {
  Database database(folder / "rows.db", Database::Mode::read_write);
  database.record_all(rows);
  RankingRows ranking = ranking_rows(database, {});
  std::vector<RankingGroup> groups = rank_rows(ranking);
  newest_first(groups, database);
  return best_as_header(groups, database, name_space);
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A program's files: a.h and b.h of two databases, a.cpp and b.cpp that say what each of them finds, and
/// main.cpp that prints both.
void write_two_headers(const std::filesystem::path& folder) {
  for (const std::string name : {"a", "b"}) {
    const TemporaryFolder rows;
    std::ofstream(folder / (name + ".h"))
        << header_of(rows.path(), {best_of(name == "a" ? "A100" : "H200", "512x512x512", 9)});
    std::ofstream(folder / (name + ".cpp"))
        << "#include \"" << name << ".h\"\nconst char* " << name
        << "() { return tiletune_best::find({}).entry->kernel_expression; }\n";
  }
  std::ofstream(folder / "main.cpp") << "#include <cstdio>\nconst char* a();\nconst char* b();\n"
                                        "int main() { std::printf(\"%s, %s\", a(), b()); }\n";
}

/// What the program prints that a compiler makes of files of the folder.
std::string printed(const std::filesystem::path& folder, const std::string& arguments) {
  const std::string command = "cd '" + folder.string() + "' && g++ -std=c++17 -Wall -Wextra -Werror " +
                              arguments + " -o main 2> errors && ./main > output";
  return std::system(command.c_str()) == 0 ? read(folder / "output") : read(folder / "errors");
}

bool has(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// Each installed one is tried.
const std::vector<std::string> kCompilers{"g++", "clang++", "clang++-16"};

/// What a program that includes the header prints; it must not draw a warning.
std::string output_of(const std::filesystem::path& folder, const std::string& compiler,
                      const std::string& main) {
  std::ofstream(folder / "main.cpp")
      << "#include <cstdio>\n#include <initializer_list>\n#include \"tuned.h\"\n#include \"tuned.h\"\n"
      << main;
  const std::string in_folder = "cd '" + folder.string() + "' && ";
  const std::string command =
      in_folder + compiler +
      " -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror main.cpp -o main 2> errors "
      "&& ./main > output";
  EXPECT_EQ(std::system(command.c_str()), 0) << compiler << ": " << read(folder / "errors");
  return read(folder / "output");
}

constexpr const char* kMain = R"(
using namespace tiletune_best;

constexpr Query query(long long m, long long n, long long k, const char* gpu, const char* uuid, int cc) {
  Query query;
  query.sizes[0] = m;
  query.sizes[1] = n;
  query.sizes[2] = k;
  query.gpu = gpu;
  query.uuid = uuid;
  query.compute_capability = cc;
  query.accept_unknown = true;
  return query;
}
static_assert(find(query(512, 512, 512, "H200", "", 0)).problem == ProblemMatch::exact, "at compile time");

static void show(const Query& query) {
  const Found found = find(query);
  std::printf("%s: %s, %s\n", found.entry ? found.entry->kernel_expression : "none", text(found.gpu),
              text(found.problem));
}

int main() {
  show(query(512, 512, 512, "H100", "GPU-H200", 90));
  show(query(512, 512, 512, "A100", "GPU-9", 80));
  show(query(600, 500, 700, "H100", "", 90));
  show(query(8192, 48, 4096, "B200", "", 100));
  show(query(3000, 3000, 3000, "H200", "", 0));
  show(query(64, 64, 65536, "H200", "", 0));
  Query f16 = query(512, 512, 512, "H200", "", 0);
  f16.element_types = "f16";
  show(f16);
  Query reads_c = query(512, 512, 512, "H200", "", 0);
  reads_c.beta_is_zero = false;
  std::printf("%d %d\n", find(reads_c).same_scalars_class, find(query(1, 1, 1, "", "", 0)).same_scalars_class);
}
)";

TEST(Header, LooksUpGpuAndProblemAndSaysHowFarItFellBack) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h") << header_of(
      folder.path(), {best_of("H200", "512x512x512", 9), best_of("H200", "4096x4096x4096", 2500),
                      best_of("A100", "512x512x512", 20), best_of("H200", "16384x64x4096", 190)});
  const std::string expected =
      "H200 512x512x512: tuned on this GPU, for this problem\n"
      "A100 512x512x512: tuned on a GPU of this model, for this problem\n"
      "H200 512x512x512: tuned on another model of this compute capability, for the nearest problem of this "
      "shape class\n"
      "H200 16384x64x4096: tuned on a GPU of another compute capability, for the nearest problem of this "
      "shape "
      "class\n"
      "H200 4096x4096x4096: tuned on a GPU of this model, for the nearest problem of this shape class\n"
      "H200 16384x64x4096: tuned on a GPU of this model, for the nearest problem, of another shape class\n"
      "none: nothing that may be used was tuned for this operation, these element types and this template, "
      "for no problem\n"
      "0 1\n";
  for (const std::string& compiler : kCompilers) {
    if (!has(compiler)) continue;
    EXPECT_EQ(output_of(folder.path(), compiler, kMain), expected);
  }
}

TEST(Header, UntrustedTextsStayTexts) {
  const TemporaryFolder folder;
  Trial row = best_of("H200", "512x512x512", 9);
  row.template_name = "a\"; int x = 1; //\n#error \\ ?\?/ \x01 \xC3\xBC";
  row.parameters = R"({"B M\" };\n#error": "*/ ??/", "nested": {"deep": [1]}})";
  row.kernel_expression = "f<1>)\";";
  row.launch = R"({"grid":[-1, 1e30, "x"], "block": 7})";
  row.problem = "512x512x";
  row.architecture = "sm_";
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), {row});
  const char* const main = R"(
int main() {
  const auto& entry = tiletune_best::kEntries[0];
  std::printf("%s|%s|%u %u|%lld", entry.kernel_template, entry.parameters[0].name, entry.grid_of_problem[0], entry.block[0],
              entry.sizes[0]);
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), row.template_name + "|B M\" };\n#error|0 0|0");
}

TEST(Header, SaysWhichEntriesAreUnverified) {
  const TemporaryFolder folder;
  std::vector<Trial> rows{best_of("H200", "512x512x512", 9), best_of("H200", "64x64x64", 9),
                          best_of("H200", "32x32x32", 9)};
  rows[1].relative_error.reset();
  rows[2].relative_error.reset();
  rows[2].source = Source::imported;
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), rows);
  const char* const main = R"(
using namespace tiletune_best;
int main() {
  for (const Entry& entry : kEntries) std::printf("%s %s %d\n", entry.problem, entry.source, entry.unverified);
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main),
            "512x512x512 measured 0\n64x64x64 measured 1\n32x32x32 imported 0\n");
}

TEST(Header, NumbersThatNoLaunchTakesAreNotKnown) {
  const TemporaryFolder folder;
  std::vector<Trial> rows;
  for (const std::int64_t bytes :
       {std::int64_t{4'294'967'296}, std::int64_t{-1}, std::int64_t{4'294'967'295}}) {
    rows.push_back(best_of("H200", std::to_string(rows.size() + 1), 9));
    rows.back().dynamic_shared_bytes = bytes;
    rows.back().launch = R"({"grid":[18446744073709551615, 2, -3]})";
  }
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), rows);
  const char* const main = R"(
int main() {
  for (const auto& entry : tiletune_best::kEntries)
    std::printf("%u %u\n", entry.grid_of_problem[0], entry.dynamic_shared_bytes);
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "0 0\n0 0\n0 4294967295\n");
}

TEST(Header, AGridIsOfItsOwnProblemAlone) {
  const TemporaryFolder folder;
  Trial imported = best_of("A100", "64x64x64", 9);
  imported.launch.clear();
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {best_of("H200", "512x512x512", 9), imported});
  const char* const main = R"(
using namespace tiletune_best;
constexpr const unsigned* grid(const char* gpu, long long size) {
  Query query;
  query.gpu = gpu;
  query.sizes[0] = query.sizes[1] = query.sizes[2] = size;
  query.accept_unknown = true;
  return find(query).grid;
}
static_assert(grid("H200", 512)[0] == 8 && grid("H200", 512)[1] == 4, "its own problem");
static_assert(grid("H200", 513) == nullptr, "the nearest problem");
static_assert(grid("A100", 64) == nullptr, "not recorded");
int main() { std::printf("compiled"); }
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "compiled");
}

TEST(Header, AKernelIsFoundByItsOperationAndOptions) {
  const TemporaryFolder folder;
  std::vector<Trial> rows{best_of("A100", "4096x4096", 9), best_of("A100", "4096x8192", 9)};
  rows[0].template_name = "hotspot";
  rows[1].template_name = "convolution";
  for (Trial& row : rows) row.operation = row.template_name;
  rows[1].options = "border=zero";
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), rows);
  const char* const main = R"(
using namespace tiletune_best;
static void show(const char* operation, const char* options, const char* kernel) {
  Query query;
  query.operation = operation;
  query.options = options;
  query.kernel_template = kernel;
  const Found found = find(query);
  std::printf("%s\n", found.entry ? found.entry->kernel_template : "none");
}
int main() {
  show("convolution", "border=zero", "");
  show("convolution", "", "");
  show("hotspot", "", "hotspot");
  show("hotspot", "", "other");
  show("gemm", "", "");
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "convolution\nnone\nhotspot\nnone\nnone\n");
}

TEST(Header, UnknownSizesAreNoExactMatch) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {best_of("H200", "large", 9), best_of("A100", "512x512x", 9)});
  const char* const main = R"(
using namespace tiletune_best;
static ProblemMatch match(const char* gpu, long long m, long long n) {
  Query query;
  query.gpu = gpu;
  query.sizes[0] = m;
  query.sizes[1] = n;
  return find(query).problem;
}
int main() {
  std::printf("%d %d", match("H200", 0, 0) == ProblemMatch::exact, match("A100", 512, 512) == ProblemMatch::exact);
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "0 0");
}

TEST(Header, SaysWhatIsNotKnownOfTheGpuOrTheProblem) {
  const TemporaryFolder folder;
  Trial imported = best_of("A100", "4096x4096x4096", 2500);
  imported.architecture.clear();
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {best_of("H200", "64x64x64", 9), imported});
  const char* const main = R"(
using namespace tiletune_best;
static void show(const char* gpu, int cc, long long size) {
  Query query;
  query.gpu = gpu;
  query.compute_capability = cc;
  query.sizes[0] = query.sizes[1] = query.sizes[2] = size;
  const Found found = find(query);
  std::printf("%s: %s, %s\n", found.entry->gpu, text(found.gpu), text(found.problem));
}
static_assert(find({}).gpu == GpuMatch::not_known && find({}).problem == ProblemMatch::not_known, "nothing is asked");
int main() {
  show("", 0, 0);
  show("B200", 0, 64);
  show("B200", 120, 64);
  show("B200", 120, 4096);
  show("H200", 0, 0);
}
)";
  const std::string unlike = "tuned on a GPU that may differ: its compute capability is unknown, ";
  const std::string far = "for a problem that may differ: its sizes are unknown\n";
  EXPECT_EQ(output_of(folder.path(), "g++", main),
            "H200: " + unlike + far + "H200: " + unlike + "for this problem\n" +
                "H200: tuned on a GPU of another compute capability, for this problem\n" + "A100: " + unlike +
                "for this problem\n" + "H200: tuned on a GPU of this model, " + far);
}

Trial softmax(const std::string& problem, const std::string& kernel, const std::string& conditions) {
  Trial row = best_of("H200", problem, 9);
  row.key = kernel + problem;
  row.operation = "softmax";
  row.template_name = kernel;
  const std::size_t x = problem.find('x');
  row.dimensions = R"({"rows":)" + problem.substr(0, x) + R"(,"columns":)" + problem.substr(x + 1) + "}";
  row.size_conditions = conditions;
  row.options = kernel == "vectors" ? "" : "in=" + kernel;
  return row;
}

constexpr const char* kSoftmaxQuery = R"(
using namespace tiletune_best;
constexpr Query softmax(long long rows, long long columns) {
  Query query;
  query.operation = "softmax";
  query.gpu = "H200";
  query.sizes[0] = rows;
  query.sizes[1] = columns;
  return query;
}
[[maybe_unused]] static void show(Query query, const char* options = "") {
  query.options = options;
  const Found found = find(query);
  const char* const known[] = {"recorded", "hold", "not known", "refused", "none"};
  std::printf("%s: %s\n", found.entry ? found.entry->problem : "none", known[static_cast<int>(found.constraints)]);
}
)";

TEST(Header, OtherSizesGetTheNextEntryWhoseConstraintsHold) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {softmax("8192x4096", "vectors", R"(["columns % 4 == 0"])"),
                                   softmax("8192x1000", "vectors", "[]"),
                                   softmax("64x4096", "vectors", R"(["columns % 4 == 0", "rows <= 128"])")});
  const std::string main = std::string(kSoftmaxQuery) + R"(
static_assert(find(softmax(8192, 4092)).constraints == Constraints::hold, "at compile time");
static_assert(find(softmax(8192, 0)).constraints == Constraints::refused, "a size is below 1");
static_assert(find(softmax(0, 4096)).constraints == Constraints::refused, "a size is below 1");
static_assert(find(softmax(-64, 4096)).entry == nullptr, "a size is below 1");
static_assert(find(softmax(0, 0)).constraints == Constraints::not_known, "without sizes");
static_assert(find(Query()).constraints == Constraints::none, "there is no gemm");
int main() {
  show(softmax(8192, 4096));
  show(softmax(8192, 4092));
  show(softmax(8192, 4095));
  show(softmax(100, 4092));
  show(softmax(129, 4092));
  show({});
}
)";
  for (const std::string& compiler : kCompilers) {
    if (!has(compiler)) continue;
    EXPECT_EQ(output_of(folder.path(), compiler, main),
              "8192x4096: recorded\n8192x4096: hold\n8192x1000: hold\n64x4096: hold\n8192x4096: hold\n"
              "none: none\n");
  }
}

TEST(Header, WithoutAnEntryThatMayBeLaunchedThereIsNone) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {softmax("8192x4096", "vectors", R"(["columns % 4 == 0"])")});
  const std::string main = std::string(kSoftmaxQuery) + R"(
int main() {
  show(softmax(8192, 4096));
  show(softmax(8192, 4095));
}
)";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "8192x4096: recorded\nnone: refused\n");
}

TEST(Header, OfEntriesThatDifferInScalarsTheNewestIsFoundUnlessScalarsAreNamed) {
  const TemporaryFolder folder;
  std::vector<Trial> rows;
  for (const char* scalars : {"eps=1", "eps=1e-05"}) {
    Trial row = softmax("8192x4096", "vectors", "[]");
    row.key = scalars;
    row.kernel_expression = row.scalars = scalars;
    row.recorded_at = rows.empty() ? "2026-11-20T10:00:00Z" : "2026-11-21T10:00:00Z";
    rows.push_back(row);
  }
  const std::string main = std::string(kSoftmaxQuery) + R"(
int main() {
  Query query = softmax(8192, 4096);
  for (const char* scalars : {"", "eps=1", "eps=2"}) {
    query.scalars = scalars;
    const Found found = find(query);
    std::printf("%s, %s\n", found.entry ? found.entry->scalars : "none", text(found.constraints));
  }
})";
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), rows);
  EXPECT_EQ(output_of(folder.path(), "g++", main),
            "eps=1e-05, recorded for these sizes\neps=1, recorded for these sizes\n"
            "none, no entry has what the query asks for\n");
}

TEST(Header, ADriversNameFindsPredictionsOfTheModel) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h") << header_of(
      folder.path(), {best_of("H200", "512x512x512", 9), best_of("NVIDIA A100", "512x512x512", 9)});
  const char* const main = R"(
using namespace tiletune_best;
int main() {
  for (const char* gpu : {"NVIDIA H200", "H200", "A100", "NVIDIA A100", "NVIDIA ", "NVIDIA H20"}) {
    Query query;
    query.gpu = gpu;
    std::printf("%d", find(query).gpu == GpuMatch::model);
  }
})";
  EXPECT_EQ(output_of(folder.path(), "g++", main), "111100");
}

TEST(Header, ConditionsThatAlwaysHoldAreLeftOut) {
  const TemporaryFolder folder;
  const std::string header =
      header_of(folder.path(),
                {softmax("8192x4096", "vectors",
                         R"x(["(rows == rows)", "(columns <= columns) and rows == rows", "rows > 1"])x")});
  EXPECT_NE(header.find("\"rows > 1\""), std::string::npos);
  EXPECT_EQ(header.find("rows == rows"), std::string::npos);
}

TEST(Header, AWinnerWithSeveralLaunchesIsLeftOutAndReported) {
  const TemporaryFolder folder;
  Trial two = best_of("H200", "1024x1024x1024", 9);
  two.template_name = "split";
  two.launch = R"({"launches":[{"grid":[1,1,1]},{"grid":[1,1,1]}]})";
  Database database(folder.path() / "rows.db", Database::Mode::read_write);
  database.record_all({two});
  const auto header = [&](std::vector<std::string>& notes) {
    RankingRows ranking = ranking_rows(database, {});
    return best_as_header(rank_rows(ranking), database, kHeaderNamespace,
                          [&](const std::string& note) { notes.push_back(note); });
  };
  std::vector<std::string> notes;
  EXPECT_THROW(header(notes), UserError) << "there is nothing else to write";
  database.record_all({best_of("H200", "512x512x512", 9)});
  const std::string text = header(notes);
  EXPECT_NE(text.find("H200 512x512x512"), std::string::npos);
  EXPECT_EQ(text.find("1024x1024x1024"), std::string::npos);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("split at 1024x1024x1024"), std::string::npos) << notes[0];
}

/// Prints what is found without and with `accept_unknown`.
constexpr const char* kAcceptOrNot = R"(
static void show_both(long long rows, long long columns, const char* options) {
  for (const bool accept_unknown : {false, true}) {
    Query query = softmax(rows, columns);
    query.accept_unknown = accept_unknown;
    show(query, options);
  }
}
)";

TEST(Header, AnEntryWhoseConstraintsAreNotKnownIsFoundOnlyWhenTheQueryAcceptsIt) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h") << header_of(
      folder.path(),
      {softmax("8192x4096", "old", ""), softmax("8192x4096", "powers", R"(["columns ** 2 > 1.5"])"),
       softmax("8192x4096", "long", R"(["columns > 1", null])"),
       softmax("8192x4096", "hostile", R"x(["1 }; #error", "columns) || (1", "depth > 0", 7])x"),
       softmax("8192x4096", "vectors", R"({"not": "a list"})")});
  const std::string main = std::string(kSoftmaxQuery) + kAcceptOrNot + R"(
int main() {
  const char* const all[] = {"in=old", "in=powers", "in=long", "in=hostile", ""};
  for (const char* options : all) {
    show_both(8192, 4095, options);
    show(softmax(8192, 4096), options);
  }
}
)";
  std::string expected;
  for (int i = 0; i < 5; ++i) expected += "none: not known\n8192x4096: not known\n8192x4096: recorded\n";
  EXPECT_EQ(output_of(folder.path(), "g++", main), expected);
}

TEST(Header, AViolatedConditionRefusesWhateverElseIsNotKnown) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h") << header_of(
      folder.path(),
      {softmax("8192x4096", "long", R"([null, "columns % 4 == 0"])"),
       softmax("8192x4096", "powers", R"(["columns % 4 == 0", "columns ** 2 > 1.5", "rows > 0"])")});
  const std::string main = std::string(kSoftmaxQuery) + kAcceptOrNot + R"(
int main() {
  for (const char* options : {"in=long", "in=powers"}) {
    show_both(8192, 4095, options);
    show_both(8192, 4092, options);
  }
}
)";
  const std::string each = "none: refused\nnone: refused\nnone: not known\n8192x4096: not known\n";
  EXPECT_EQ(output_of(folder.path(), "g++", main), each + each);
}

TEST(Header, ConstraintsThatHoldGoBeforeNearerOnesThatAreNotKnown) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {softmax("8192x4094", "vectors", ""), softmax("512x512", "vectors", "[]")});
  EXPECT_EQ(output_of(folder.path(), "g++",
                      std::string(kSoftmaxQuery) + "int main() { show(softmax(8192, 4095)); }"),
            "512x512: hold\n");
}

/// Of an operation with these dimensions: d0, d1, ...
Trial of_dimensions(const std::string& problem, const std::string& operation, const std::string& conditions) {
  Trial row = best_of("H200", problem, 9);
  row.operation = operation;
  row.size_conditions = conditions;
  const std::vector<std::string> sizes = split(problem, 'x');
  for (std::size_t i = 0; i < sizes.size(); ++i)
    row.dimensions += (i == 0 ? "{" : ",") + ("\"d" + std::to_string(i)) + "\":" + sizes[i];
  row.dimensions += "}";
  return row;
}

TEST(Header, ProblemsMayHaveAnyNumberOfDimensions) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {of_dimensions("8x64x56x56x64", "conv", R"(["d4 % 32 == 0"])"),
                                   of_dimensions("8x64x56x56x48", "conv", "[]"),
                                   of_dimensions("2x3x4x5x6x7x8", "contraction", R"(["d6 >= d5"])"),
                                   best_of("H200", "512x512x512", 9)});
  const char* const main = R"(
#include <initializer_list>
using namespace tiletune_best;
static_assert(kMostSizes == 7, "the contraction's");
constexpr Query of(const char* operation, std::initializer_list<long long> sizes) {
  Query query;
  query.operation = operation;
  query.gpu = "H200";
  int i = 0;
  for (const long long size : sizes) query.sizes[i++] = size;
  return query;
}
static_assert(find(of("conv", {8, 64, 56, 56, 48})).problem == ProblemMatch::exact, "at compile time");
static void show(const Query& query) {
  const Found found = find(query);
  std::printf("%s %s, %d\n", found.entry ? found.entry->problem : "none", text(found.problem),
              found.constraints == Constraints::hold);
}
int main() {
  show(of("conv", {8, 64, 56, 56, 64}));
  show(of("conv", {8, 64, 56, 56, 96}));
  show(of("conv", {8, 64, 56, 56, 65}));
  show(of("contraction", {2, 3, 4, 5, 6, 7, 9}));
  show(of("contraction", {2, 3, 4, 5, 6, 7, 6}));
  show(of("gemm", {512, 512, 512}));
}
)";
  const std::string nearest = " for the nearest problem of this shape class, 1\n";
  for (const std::string& compiler : kCompilers) {
    if (!has(compiler)) continue;
    EXPECT_EQ(output_of(folder.path(), compiler, main),
              "8x64x56x56x64 for this problem, 0\n8x64x56x56x64" + nearest + "8x64x56x56x48" + nearest +
                  "2x3x4x5x6x7x8" + nearest + "none for no problem, 0\n512x512x512 for this problem, 0\n");
  }
}

TEST(Header, SizesAreFourWhereNoProblemHasMore) {
  const TemporaryFolder folder;
  std::string endless = "9";
  for (int i = 0; i < 1000; ++i) endless += "x9";
  std::ofstream(folder.path() / "tuned.h")
      << header_of(folder.path(), {best_of("H200", "512x512x512", 9), best_of("A100", endless, 9)});
  const char* const main = R"(
using namespace tiletune_best;
static_assert(kMostSizes == 4, "a problem that no operation has does not count");
int main() {
  for (const Entry& entry : kEntries) std::printf("%lld ", entry.sizes[0]);
}
)";
  const std::string sizes = output_of(folder.path(), "g++", main);
  EXPECT_TRUE(sizes == "512 0 " || sizes == "0 512 ") << sizes;
}

/// Every operator that a condition may have, for 7 rows and 12 columns.
TEST(Header, ConditionsComputeAsTheLanguageDoes) {
  const TemporaryFolder folder;
  const char* const hold[] = {"columns - rows == 5",
                              "(rows - columns) // 2 == -3",
                              "(rows - columns) % 4 == 3",
                              "ceil_div(columns, rows) == 2",
                              "round_up(columns, rows) == 14",
                              "min(rows, columns, 9) == 7",
                              "max(rows, columns) == 12",
                              "1 < rows <= 7 < columns",
                              "rows in (3, 7)",
                              "rows not in (3, 8)",
                              "not rows > columns",
                              "rows == 9 or columns == 12",
                              "(rows and columns) == 12",
                              "(0 or rows) == 7",
                              "(1 if rows > 9 else 2) == 2",
                              "rows == 9 and 1 // 0 or true",
                              "-rows < 0",
                              "rows != columns and rows >= 7",
                              "bool(rows) == true",
                              "rows * columns + 1 == 85",
                              "+rows == 7",
                              "columns / rows > 1.7",
                              "rows * 0.1 != 0.7",
                              "columns * 0.5 % 4 == 2",
                              "-rows // 2.0 == -4",
                              "-rows % 2.5 == 0.5",
                              "rows % -2.5 == -0.5",
                              "rows + 9007199254740986 > 9007199254740992.0",
                              "rows < 7.5 < columns - 0.5",
                              "min(rows, 7.5) == 7 and max(rows, 7.5) == 7.5",
                              "int(columns / 5) == 2 and int(-columns / 5) == -2",
                              "float(rows) == 7 and rows / 2 in (3, 3.5)",
                              "abs(rows - 9.5) == 2.5 and abs(-rows) == 7",
                              "'a' == ('a' if rows < 9 else 'b')",
                              "('a' if rows > 9 else 'b') > 'a'",
                              "'a' != rows",
                              "gcd(columns, rows + 1, 6) == 2",
                              "is_pow2(rows + 1)",
                              "-9223372036854775802 + 1 - rows < 0"};
  const char* const fail[] = {"rows // (columns - 12) == 0",
                              "rows * 9223372036854775807 > 0",
                              "rows % (columns - 12) == 0 or true",
                              "rows > 7",
                              "columns + 9223372036854775807 > 0",
                              "rows / (columns - 12) > 0",
                              "rows // (columns - 12.0) > 0",
                              "rows * 1e308 > 0",
                              "int(rows * 1e30) > 0",
                              "'a' > rows",
                              "'a' + rows > 0 or true",
                              "-9223372036854775803 - rows < 0"};
  std::vector<Trial> rows;
  std::string main = kSoftmaxQuery;
  main += "int main() {\n";
  std::string expected;
  const auto add = [&](const char* condition, bool holds) {
    const std::string name = "c" + std::to_string(rows.size());
    rows.push_back(softmax("8192x4096", name, "[\"" + std::string(condition) + "\"]"));
    main += "  show(softmax(7, 12), \"in=" + name + "\");\n";
    expected += holds ? "8192x4096: hold\n" : "none: refused\n";
    EXPECT_EQ(satisfy({7, 12}, rows.back().size_conditions, {"rows", "columns"}), holds) << condition;
  };
  for (const char* condition : hold) add(condition, true);
  for (const char* condition : fail) add(condition, false);
  std::ofstream(folder.path() / "tuned.h") << header_of(folder.path(), rows);
  EXPECT_EQ(output_of(folder.path(), "g++", main + "}\n"), expected);
}

TEST(Header, TwoInOneProgramHaveTheirOwnEntriesInAnyOrder) {
  const TemporaryFolder folder;
  write_two_headers(folder.path());
  for (const char* arguments :
       {"-O0 main.cpp a.cpp b.cpp", "-O0 main.cpp b.cpp a.cpp", "-O2 main.cpp b.cpp a.cpp"})
    EXPECT_EQ(printed(folder.path(), arguments), "A100 512x512x512, H200 512x512x512") << arguments;
}

TEST(Header, TwoInOneFileAreAmbiguousUnlessTheirNamespacesDiffer) {
  const TemporaryFolder folder;
  write_two_headers(folder.path());
  std::ofstream(folder.path() / "both.cpp")
      << "#include \"a.h\"\n#include \"b.h\"\n#include \"a.h\"\n"
         "int main() { return tiletune_best::find({}).entry == nullptr; }\n";
  EXPECT_NE(printed(folder.path(), "both.cpp").find("ambiguous"), std::string::npos);
  const TemporaryFolder rows;
  std::ofstream(folder.path() / "c.h")
      << header_of(rows.path(), {best_of("L40", "512x512x512", 9)}, "tuned::l40");
  std::ofstream(folder.path() / "both.cpp")
      << "#include <cstdio>\n#include \"a.h\"\n#include \"c.h\"\n"
         "int main() { std::printf(\"%s, %s\", tiletune_best::find({}).entry->gpu, "
         "tuned::l40::find({}).entry->gpu); }\n";
  EXPECT_EQ(printed(folder.path(), "both.cpp"), "A100, L40");
}

TEST(Header, NamespacesAreIdentifiers) {
  for (const char* good : {"tuned", "tuned::l40", "_a::b_2::c"})
    EXPECT_NO_THROW(check_header_namespace(good)) << good;
  for (const char* bad :
       {"", "a:b", "a::", "::a", "a::::b", "2a", "a b", "a-b", "class", "a::namespace", "a;int x"})
    EXPECT_THROW(check_header_namespace(bad), UserError) << bad;
}

TEST(Header, LiteralsAreAscii) {
  EXPECT_EQ(cpp_literal("a\"b\\?\n\x7F\xFF"
                        "7"),
            R"("a\"b\\\?\012\177\3777")");
}

}  // namespace header_test
}  // namespace tiletune
