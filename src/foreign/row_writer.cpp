#include "foreign/row_writer.h"

#include <span>
#include <utility>

namespace tiletune {

namespace {

/// A row takes about 1 KB: few enough to stay in a core's cache, and enough that handing over costs nothing.
constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kMostWaiting = 8;

}  // namespace

RowWriter::RowWriter(RowBatch& batch) : batch_(batch), thread_([this] { write_all(); }) {}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  stop();
}

void RowWriter::add(const Trial& row) {
  batch_.append_cells(row, gathered_);
  if (gathered_.size() == kRowsAtOnce * batch_.cells_per_row()) hand_over();
}

std::uint64_t RowWriter::finish() {
  hand_over();
  stop();
  if (error_) std::rethrow_exception(error_);
  return new_rows_;
}

void RowWriter::hand_over() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < kMostWaiting || error_; });
    if (error_) std::rethrow_exception(error_);
    waiting_.push_back(std::exchange(gathered_, {}));
  }
  gathered_.reserve(kRowsAtOnce * batch_.cells_per_row());
  changed_.notify_all();
}

void RowWriter::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RowWriter::write_all() {
  try {
    for (Rows rows = take(); !rows.empty(); rows = take()) {
      const std::size_t cells = batch_.cells_per_row();
      for (std::size_t row = 0; row < rows.size(); row += cells)
        if (batch_.add(std::span(rows).subspan(row, cells))) ++new_rows_;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  changed_.notify_all();
}

RowWriter::Rows RowWriter::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_.empty() || ended_; });
  if (waiting_.empty()) return {};
  Rows rows = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return rows;
}

}  // namespace tiletune
