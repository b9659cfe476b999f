#include "foreign/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>

namespace tiletune {

namespace {

struct Unit {
  std::string_view name;
  double microseconds;
};
constexpr std::array kUnits{Unit{"ms", 1e3},  Unit{"millisecond", 1e3}, Unit{"milisecond", 1e3},
                            Unit{"us", 1},    Unit{"microsecond", 1},   Unit{"\xC2\xB5s", 1},
                            Unit{"ns", 1e-3}, Unit{"nanosecond", 1e-3}, Unit{"s", 1e6},
                            Unit{"sec", 1e6}, Unit{"second", 1e6}};

/// Takes digits off the front, and the separator behind them where there must be one.
bool take(std::string_view& text, std::size_t digits, char separator, int& number) {
  if (text.size() < digits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || end != text.data() + digits) return false;
  text.remove_prefix(digits);
  if (separator == '\0') return true;
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  return true;
}

void drop_fraction(std::string_view& text) {
  if (text.empty() || (text.front() != '.' && text.front() != ',')) return;
  text.remove_prefix(1);
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
}

/// "+02:00", "-0530", "Z" or nothing.
std::optional<std::chrono::minutes> offset_of(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return std::chrono::minutes(0);
  const int sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '-' && text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!take(text, 2, '\0', hours)) return std::nullopt;
  if (!text.empty() && text.front() == ':') text.remove_prefix(1);
  if (!text.empty() && !take(text, 2, '\0', minutes)) return std::nullopt;
  if (!text.empty() || hours > 23 || minutes > 59) return std::nullopt;
  return std::chrono::minutes(sign * (hours * 60 + minutes));
}

}  // namespace

std::optional<double> microseconds_of(std::string_view unit) {
  std::string name(unit);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.size() > 3 && name.back() == 's') name.pop_back();
  for (const Unit& known : kUnits) {
    if (known.name == name) return known.microseconds;
  }
  return std::nullopt;
}

std::string utc_time(std::string_view text) {
  namespace chrono = std::chrono;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take(text, 4, '-', year) || !take(text, 2, '-', month) || !take(text, 2, '\0', day)) return "";
  if (text.empty() || (text.front() != ' ' && text.front() != 'T')) return "";
  text.remove_prefix(1);
  if (!take(text, 2, ':', hour) || !take(text, 2, ':', minute) || !take(text, 2, '\0', second)) return "";
  drop_fraction(text);
  const auto offset = offset_of(text);
  const chrono::year_month_day date(chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day)));
  if (!offset || !date.ok() || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60) {
    return "";
  }
  const auto when = chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) - *offset;
  const auto utc_day = chrono::floor<chrono::days>(when);
  const chrono::year_month_day utc(utc_day);
  if (utc.year() < chrono::year(0) || utc.year() > chrono::year(9999)) return "";
  const auto minutes = (chrono::duration_cast<chrono::minutes>(when - utc_day)).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(utc.year()),
                     static_cast<unsigned>(utc.month()), static_cast<unsigned>(utc.day()), minutes / 60,
                     minutes % 60, second);
}

}  // namespace tiletune
