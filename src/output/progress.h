#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "tune/sweep.h"

namespace tiletune {

/// The live line on standard error: done/total, rate, ETA, best so far. On a terminal it is redrawn at most
/// ten times a second; elsewhere a plain line appears at most every ten seconds, and at the end; quiet prints
/// nothing. Rate and ETA are those of the task, from its first update on: what an earlier run left done does
/// not count.
class Progress {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Where the line goes, what time it is and how wide a terminal's line is.
  struct Surroundings {
    std::ostream* out;
    std::function<TimePoint()> now;
    std::function<std::size_t()> width;
  };

  Progress(bool quiet, bool terminal);
  Progress(bool quiet, bool terminal, Surroundings surroundings);
  /// As finish().
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const ProgressState& state);
  /// A line above the live one.
  void note(const std::string& line);
  /// Removes the live line; where there is no terminal, shows the last state.
  void finish();

 private:
  void draw(TimePoint now);
  void erase();
  std::string line_at(TimePoint now) const;

  bool quiet_;
  bool terminal_;
  Surroundings surroundings_;
  bool drawn_ = false;      ///< a live line stands on the terminal
  bool is_behind_ = false;  ///< what was drawn last is older than the state
  ProgressState state_;
  std::optional<TimePoint> last_drawn_;
  TimePoint task_started_;
  std::uint64_t task_first_done_ = 0;
};

}  // namespace tiletune
