// A list of problems: a JSON or CSV file that --problems names.

#include "fuzz/fuzz.h"
#include "spec/problem.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = write_scratch("problems.txt", text_of(data, size));
  refused([&] { read_problem_file(file, {"layout"}); });
  return 0;
}
