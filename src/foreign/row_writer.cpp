#include "foreign/row_writer.h"

#include <utility>

namespace tiletune {

namespace {

/// A row takes about 2 KB: few enough to stay in a core's cache, and enough that handing over costs nothing.
constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kMostWaiting = 4;

}  // namespace

RowWriter::RowWriter(RowBatch& batch)
    : batch_(batch), gathered_{std::vector<Trial>(kRowsAtOnce)}, thread_([this] { write_all(); }) {}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  stop();
}

void RowWriter::add(Trial& row) {
  std::swap(gathered_.trials[gathered_.count++], row);
  if (gathered_.count == kRowsAtOnce) hand_over();
}

std::uint64_t RowWriter::finish() {
  hand_over();
  stop();
  if (error_) std::rethrow_exception(error_);
  return new_rows_;
}

void RowWriter::hand_over() {
  Rows next;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < kMostWaiting || error_; });
    if (error_) std::rethrow_exception(error_);
    waiting_.push_back(std::move(gathered_));
    if (!written_.empty()) {
      next = std::move(written_.back());
      written_.pop_back();
    }
  }
  changed_.notify_all();
  next.trials.resize(kRowsAtOnce);
  next.count = 0;
  gathered_ = std::move(next);
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
    Rows rows;
    for (exchange(rows); rows.count != 0; exchange(rows)) {
      for (std::size_t row = 0; row < rows.count; ++row)
        if (batch_.add(rows.trials[row])) ++new_rows_;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  changed_.notify_all();
}

void RowWriter::exchange(Rows& rows) {
  std::unique_lock lock(mutex_);
  if (rows.count != 0) written_.push_back(std::move(rows));
  rows = {};
  changed_.wait(lock, [&] { return !waiting_.empty() || ended_; });
  if (waiting_.empty()) return;
  rows = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  changed_.notify_all();
}

}  // namespace tiletune
