#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/row_batch.h"

namespace tiletune {

/// Adds rows to a batch on a thread of its own, in their order, while its owner reads the next ones. From the
/// first row to finish() or the end of this object, nobody else may use the batch or its database.
class RowWriter {
 public:
  /// `added` is called on the thread, for each row, with what RowBatch::add returned.
  using Added = std::function<void(const Trial& row, bool is_new)>;

  RowWriter(RowBatch& batch, Added added);
  /// What is not written by now is not written at all.
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// May throw what adding an earlier row threw.
  void add(Trial row);
  /// Returns when all rows are added; throws what adding one threw.
  void finish();

 private:
  using Rows = std::vector<Trial>;

  void hand_over();
  void stop();
  void write_all();
  /// The next rows; none at the end.
  Rows take();

  RowBatch& batch_;
  Added added_;
  Rows gathered_;  ///< of the owner alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Rows> waiting_;
  bool ended_ = false;
  std::exception_ptr error_;

  std::thread thread_;
};

}  // namespace tiletune
