#include "store/step_limit.h"

namespace tiletune {

namespace {

constexpr int kStepsPerQuestion = 1000000;

std::uint64_t bytes_of(const std::filesystem::path& file) {
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  return absent ? 0 : bytes;
}

}  // namespace

void StepLimit::watch(sqlite3* connection) {
  connection_ = connection;
  file_ = ::sqlite3_db_filename(connection, "main");
  resume();
}

void StepLimit::resume() {
  if (connection_ == nullptr) return;
  const auto ask = [](void* data) { return static_cast<StepLimit*>(data)->is_exceeded() ? 1 : 0; };
  ::sqlite3_progress_handler(connection_, kStepsPerQuestion, ask, this);
}

bool StepLimit::is_exceeded() {
  // A row takes at least a byte for each column, and a statement about three steps.
  constexpr std::uint64_t kStepsPerByte = 16;
  constexpr std::uint64_t kLeast = std::uint64_t{10} * kStepsPerQuestion;
  steps_ += kStepsPerQuestion;
  // Others may write to it meanwhile.
  return steps_ > kLeast + kStepsPerByte * (bytes_of(file_) + bytes_of(file_.string() + "-wal"));
}

}  // namespace tiletune
