// A portfolio: the best.json that `tiletune portfolio --apply` names.

#include "output/portfolio.h"

#include "fuzz/fuzz.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = write_scratch("best.json", text_of(data, size));
  refused([&] {
    const std::int64_t kSize = 64;
    for (const ExportedPortfolio& portfolio : read_exported_portfolios(file))
      portfolio.choice(std::vector<std::int64_t>(portfolio.dimensions.size(), kSize));
  });
  return 0;
}
