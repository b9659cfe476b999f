#include "base/outcome.h"

#include <array>
#include <utility>

namespace tiletune {

namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 15> kOutcomes{{
    {Outcome::dispatched, "dispatched"},
    {Outcome::ok, "ok"},
    {Outcome::refused, "refused"},
    {Outcome::compile_failed, "compile_failed"},
    {Outcome::compile_timeout, "compile_timeout"},
    {Outcome::compile_crashed, "compile_crashed"},
    {Outcome::launch_failed, "launch_failed"},
    {Outcome::wrong_result, "wrong_result"},
    {Outcome::unstable, "unstable"},
    {Outcome::implausible, "implausible"},
    {Outcome::out_of_bounds, "out_of_bounds"},
    {Outcome::timeout, "timeout"},
    {Outcome::crashed, "crashed"},
    {Outcome::screened_out, "screened_out"},
    {Outcome::not_recorded, "not_recorded"},
}};

constexpr std::array<std::pair<Source, std::string_view>, 4> kSources{{
    {Source::measured, "measured"},
    {Source::predicted, "predicted"},
    {Source::replayed, "replayed"},
    {Source::imported, "imported"},
}};

template <typename Table, typename Key>
std::string_view find_name(const Table& table, Key key) {
  for (const auto& [value, text] : table) {
    if (value == key) return text;
  }
  return "unknown";
}

template <typename Key, typename Table>
std::optional<Key> find_key(const Table& table, std::string_view name) {
  for (const auto& [value, text] : table) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Outcome outcome) { return find_name(kOutcomes, outcome); }
std::optional<Outcome> outcome_from_name(std::string_view text) { return find_key<Outcome>(kOutcomes, text); }

bool proves_failure(Outcome outcome, std::string_view reason) {
  switch (outcome) {
    case Outcome::dispatched:
    case Outcome::ok:
    case Outcome::screened_out:
    case Outcome::compile_timeout:
    case Outcome::not_recorded:
      return false;
    case Outcome::refused:
      return reason.find(" of limits.") == std::string_view::npos;
    default:
      return true;
  }
}

std::string_view name(Source source) { return find_name(kSources, source); }
std::optional<Source> source_from_name(std::string_view text) { return find_key<Source>(kSources, text); }

}  // namespace tiletune
