// A file of another autotuner. The first byte says whether the person has said what such files may leave out.

#include <algorithm>
#include <cmath>

#include "foreign/import.h"
#include "fuzz/fuzz.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

void check(const Trial& row) {
  require(!row.key.empty() && !row.gpu.empty(), "a row has a key and a GPU");
  require(row.source == Source::imported, "the row is marked");
  require(row.outcome != Outcome::dispatched, "what became of a configuration is known");
  require((row.outcome == Outcome::ok) == row.median_us.has_value(), "what ran has a time, and nothing else");
  require(row.outcome == Outcome::ok || !row.reason.empty(), "what did not run has a reason");
  if (row.median_us) require(std::isfinite(*row.median_us) && *row.median_us > 0, "a time is one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto file = write_scratch("recording.json", text_of(data + 1, size - 1));
  const auto path = scratch_folder() / "foreign.db";
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + end);
  Database database(path, Database::Mode::read_write);
  ImportFacts facts;
  if (data[0] % 2 == 1) facts = {"NVIDIA A100", "64x64", "k", "ms"};
  facts.replayed = data[0] % 4 == 1;  // so that the file may say something else
  ImportSummary summary;
  const bool bad = refused([&] { summary = import_file(database, file, facts, [](std::uint64_t) {}); });
  const std::vector<Trial> rows = database.trials({});
  require(!bad || rows.empty(), "a file is taken in as a whole or not at all");
  require(bad || rows.size() == summary.new_rows, "every new row is there");
  std::for_each(rows.begin(), rows.end(), check);
  return 0;
}
