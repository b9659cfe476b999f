#include "output/progress.h"

#include <fmt/format.h>

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "output/display.h"
#include "output/table.h"

namespace tiletune {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTerminalInterval{100};
constexpr milliseconds kPlainInterval{10000};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(bool quiet, bool terminal)
    : Progress(quiet, terminal,
               {&std::cerr, [] { return std::chrono::steady_clock::now(); },
                [] { return line_width(nullptr, terminal_columns(STDERR_FILENO), 80); }}) {}

Progress::Progress(bool quiet, bool terminal, Surroundings surroundings)
    : quiet_(quiet), terminal_(terminal), surroundings_(std::move(surroundings)) {}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  if (quiet_) return;
  const TimePoint now = surroundings_.now();
  const bool first = !last_drawn_.has_value();
  if (first || state.task != state_.task || state.done < task_first_done_) {
    task_started_ = now;
    task_first_done_ = state.done;
  }
  state_ = state;
  is_behind_ = true;
  if (first || now - *last_drawn_ >= (terminal_ ? kTerminalInterval : kPlainInterval)) draw(now);
}

void Progress::note(const std::string& line) {
  if (quiet_) return;
  const bool was_drawn = drawn_;
  erase();
  // Lines of a log are quoted as in an error.
  *surroundings_.out << printable_message(UserError(line, "").what()) << '\n';
  if (was_drawn) draw(surroundings_.now());
  surroundings_.out->flush();
}

void Progress::finish() {
  // Lines stay where there is no terminal: the last one shows how far it came.
  if (!quiet_ && !terminal_ && is_behind_) draw(surroundings_.now());
  erase();
}

void Progress::erase() {
  if (!drawn_) return;
  *surroundings_.out << kEraseLine << std::flush;
  drawn_ = false;
}

void Progress::draw(TimePoint now) {
  last_drawn_ = now;
  is_behind_ = false;
  const std::string line = line_at(now);
  if (terminal_) {
    // A line that wraps could not be erased; the last column stays free because some terminals wrap there.
    *surroundings_.out << kEraseLine << shortened(line, surroundings_.width() - 1) << std::flush;
    drawn_ = true;
  } else {
    *surroundings_.out << line << std::endl;
  }
}

std::string Progress::line_at(TimePoint now) const {
  std::string line = fmt::format("{}: {}", printable(state_.task), state_.done);
  if (state_.total != 0) line += fmt::format("/{} ({}%)", state_.total, 100 * state_.done / state_.total);
  const double seconds = std::chrono::duration<double>(now - task_started_).count();
  if (state_.done > task_first_done_ && seconds > 0) {
    const double rate = static_cast<double>(state_.done - task_first_done_) / seconds;
    line += fmt::format(", {}/s", three_digits(rate));
    if (state_.done < state_.total)
      line += ", ETA " + human_seconds(static_cast<double>(state_.total - state_.done) / rate);
  }
  if (!state_.best.empty()) line += ", best " + printable(state_.best);
  return line;
}

}  // namespace tiletune
