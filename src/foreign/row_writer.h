#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "store/row_batch.h"

namespace tiletune {

/// Adds rows to a batch on a thread of its own, in their order, while its owner reads the next ones. From the
/// first row to finish() or the end of this object, nobody else may use the batch or its database.
class RowWriter {
 public:
  explicit RowWriter(RowBatch& batch);
  /// What is not written by now is not written at all.
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// Takes what the row holds, and leaves it what some earlier one held, whose memory it may use again. May
  /// throw what adding an earlier row threw.
  void add(Trial& row);
  /// Returns, when all rows are added, how many of them the database had not. Throws what adding one threw.
  std::uint64_t finish();

 private:
  struct Rows {
    std::vector<Trial> trials;
    std::size_t count = 0;
  };

  void hand_over();
  void stop();
  void write_all();
  /// Gives these back and gets the next ones; none at the end.
  void exchange(Rows& rows);

  RowBatch& batch_;
  Rows gathered_;               ///< of the owner alone
  std::uint64_t new_rows_ = 0;  ///< of the thread alone, until it ended

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Rows> waiting_;
  std::vector<Rows> written_;  ///< to be used again
  bool ended_ = false;
  std::exception_ptr error_;

  std::thread thread_;
};

}  // namespace tiletune
