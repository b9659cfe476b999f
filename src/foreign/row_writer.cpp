#include "foreign/row_writer.h"

#include <utility>

namespace tiletune {

namespace {

/// A row takes about 2 KB: few enough to stay in a core's cache, and enough that handing over costs nothing.
constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kMostWaiting = 8;

}  // namespace

RowWriter::RowWriter(RowBatch& batch, Added added)
    : batch_(batch), added_(std::move(added)), thread_([this] { write_all(); }) {}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  stop();
}

void RowWriter::add(Trial row) {
  gathered_.push_back(std::move(row));
  if (gathered_.size() == kRowsAtOnce) hand_over();
}

void RowWriter::finish() {
  hand_over();
  stop();
  if (error_) std::rethrow_exception(error_);
}

void RowWriter::hand_over() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < kMostWaiting || error_; });
    if (error_) std::rethrow_exception(error_);
    waiting_.push_back(std::exchange(gathered_, {}));
  }
  gathered_.reserve(kRowsAtOnce);
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
      for (const Trial& row : rows) added_(row, batch_.add(row));
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
