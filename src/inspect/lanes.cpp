#include "inspect/lanes.h"

namespace tiletune {
namespace {

using Kind = LaneValues::Kind;

constexpr std::uint64_t kUniformZeroRegister = 63;

// Operations by the low nine bits of the opcode.
constexpr std::uint32_t kMov = 0x002, kIadd3 = 0x010, kLea = 0x011, kLop3 = 0x012, kShf = 0x019,
                        kImad = 0x024, kImadWide = 0x025, kImadHigh = 0x027, kViadd = 0x036, kS2r = 0x119,
                        kLdc = 0x182, kUldc = 0x0b9, kLdcu = 0x1ac, kR2ur = 0x1c2, kS2ur = 0x1c3;

/// Operations that write no register: comparisons, votes, stores, control flow.
constexpr std::uint32_t kWithoutResult[] = {
    0x00b, 0x00c, 0x01c, 0x02a, 0x08c, 0x09c, 0x118, 0x11a, 0x11d, 0x141, 0x142, 0x145, 0x147,
    0x148, 0x149, 0x14d, 0x150, 0x185, 0x186, 0x187, 0x188, 0x18e, 0x1a6, 0x1ae, 0x1af, 0x1b0,
    0x1b2, 0x1b4, 0x1b5, 0x1b6, 0x1b7, 0x1b8, 0x1b9, 0x1ba, 0x1bb, 0x1bd, 0x1c6, 0x1c7, 0x1c8};

LaneValues everywhere(Kind kind, std::int64_t value) {
  LaneValues out;
  out.kind = kind;
  out.value.fill(value);
  return out;
}

const LaneValues& some_uniform_value() {
  static const LaneValues value = everywhere(Kind::relative, 0);
  return value;
}

std::int64_t wrapped(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint64_t>(value));
}

bool both_absolute(const LaneValues& a, const LaneValues& b) {
  return a.kind == Kind::absolute && b.kind == Kind::absolute;
}

/// What is left of an operation that is not followed: the same for all lanes if its operands are.
LaneValues not_followed(const LaneValues& a, const LaneValues& b, const LaneValues& c) {
  return a.uniform() && b.uniform() && c.uniform() ? some_uniform_value() : LaneValues{};
}

template <typename Function>
LaneValues apply(const LaneValues& a, const LaneValues& b, const Function& function) {
  LaneValues out;
  out.kind = Kind::absolute;
  for (std::size_t lane = 0; lane < 32; ++lane)
    out.value[lane] = wrapped(function(a.value[lane], b.value[lane]));
  return out;
}

LaneValues sum(const LaneValues& a, const LaneValues& b) {
  if (!a.known() || !b.known()) return {};
  LaneValues out = apply(a, b, [](std::int64_t x, std::int64_t y) { return x + y; });
  if (!both_absolute(a, b)) out.kind = Kind::relative;
  return out;
}

LaneValues product(const LaneValues& a, const LaneValues& b) {
  const auto multiply = [](std::int64_t x, std::int64_t y) { return x * y; };
  if (both_absolute(a, b)) return apply(a, b, multiply);
  if (a.uniform() && b.uniform()) return some_uniform_value();
  const auto is_factor = [](const LaneValues& value) {
    return value.kind == Kind::absolute && value.uniform();
  };
  if ((is_factor(a) && b.known()) || (is_factor(b) && a.known())) {
    LaneValues out = apply(a, b, multiply);
    out.kind = Kind::relative;
    return out;
  }
  return {};
}

LaneValues negated(LaneValues values, bool negate) {
  if (negate) {
    for (std::int64_t& value : values.value) value = -value;
  }
  return values;
}

bool bit(std::uint64_t word, int number) { return (word >> number & 1) != 0; }

LaneValues logic(const LaneValues& a, const LaneValues& b, const LaneValues& c, std::uint64_t table) {
  if (!both_absolute(a, b) || c.kind != Kind::absolute) return not_followed(a, b, c);
  LaneValues out;
  out.kind = Kind::absolute;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::int64_t result = 0;
    for (int i = 0; i < 32; ++i) {
      const int row = (bit(static_cast<std::uint64_t>(a.value[lane]), i) ? 4 : 0) +
                      (bit(static_cast<std::uint64_t>(b.value[lane]), i) ? 2 : 0) +
                      (bit(static_cast<std::uint64_t>(c.value[lane]), i) ? 1 : 0);
      if (bit(table, row)) result |= std::int64_t{1} << i;
    }
    out.value[lane] = wrapped(result);
  }
  return out;
}

/// Funnel shift: left of the low operand, right of the high one.
LaneValues shifted(const LaneValues& low, const LaneValues& amount, const LaneValues& high,
                   std::uint64_t flags) {
  const bool right = bit(flags, 12), is_signed = bit(flags, 10) && !bit(flags, 9);
  const LaneValues& from = right ? high : low;
  if (both_absolute(from, amount)) {
    return apply(from, amount, [&](std::int64_t value, std::int64_t by) {
      const std::int64_t places = std::clamp<std::int64_t>(by, 0, 31);
      if (!right) return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << places);
      return is_signed ? value >> places : (value & 0xffffffff) >> places;
    });
  }
  if (!right && amount.kind == Kind::absolute && amount.uniform()) {
    const std::int64_t places = std::clamp<std::int64_t>(amount.value[0], 0, 31);
    return product(from, everywhere(Kind::absolute, std::int64_t{1} << places));
  }
  return not_followed(low, amount, high);
}

LaneValues scaled_sum(const LaneValues& a, const LaneValues& b, const LaneValues& high, std::uint64_t flags) {
  const auto shift = static_cast<std::int64_t>(flags >> 11 & 0x1f);
  const bool high_part = bit(flags, 16);
  if (!high_part) return sum(product(a, everywhere(Kind::absolute, std::int64_t{1} << shift)), b);
  if (!both_absolute(a, high)) return not_followed(a, b, high);
  const LaneValues carried = apply(a, high, [&](std::int64_t low_word, std::int64_t high_word) {
    const std::uint64_t wide =
        static_cast<std::uint64_t>(high_word) << 32 | (static_cast<std::uint64_t>(low_word) & 0xffffffff);
    return static_cast<std::int64_t>(wide << shift >> 32);
  });
  return sum(carried, b);
}

/// The instruction of the vector unit that a uniform one mirrors; 0 for those it does not.
std::uint32_t mirrored(std::uint32_t operation) {
  constexpr std::uint32_t kUniform = 0x080;
  constexpr std::uint32_t kMirrored[] = {kMov, kIadd3, kLea, kLop3, kShf, kImad, kImadWide};
  const std::uint32_t vector = operation - kUniform;
  return std::find(std::begin(kMirrored), std::end(kMirrored), vector) != std::end(kMirrored) ? vector : 0;
}

/// The most different words of the lanes from `first` to `last` that fall on one bank.
std::size_t most_words_in_a_bank(const LaneValues& addresses, int bytes, std::size_t first,
                                 std::size_t last) {
  constexpr std::int64_t kBanks = 32, kBankBytes = 4;
  const std::int64_t lowest = *std::min_element(addresses.value.begin(), addresses.value.end());
  std::array<std::set<std::int64_t>, kBanks> words;
  for (std::size_t lane = first; lane < last; ++lane) {
    const std::int64_t begin = (addresses.value[lane] - lowest) / kBankBytes;
    for (std::int64_t word = begin; word <= begin + (bytes - 1) / kBankBytes; ++word)
      words[static_cast<std::size_t>(word % kBanks)].insert(word);
  }
  std::size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return most;
}

/// Every lane reads what its neighbour at this distance (1 or 2) reads.
bool in_pairs(const LaneValues& addresses, std::size_t first, std::size_t last, std::size_t distance) {
  for (std::size_t lane = first; lane < last; ++lane)
    if (addresses.value[lane] != addresses.value[lane ^ distance]) return false;
  return true;
}

}  // namespace

bool LaneValues::uniform() const {
  return known() && std::all_of(value.begin(), value.end(), [&](std::int64_t v) { return v == value[0]; });
}

LaneTracker::LaneTracker(const Dim3& block, std::map<std::uint32_t, std::int64_t> constants)
    : block_(block), constants_(std::move(constants)), vector_(256), uniform_(256, some_uniform_value()) {}

const LaneValues& LaneTracker::vector_register(std::uint32_t number) const {
  static const LaneValues zero = everywhere(Kind::absolute, 0);
  return number == kZeroRegister ? zero : vector_[number & 0xff];
}

LaneValues LaneTracker::read(bool uniform, std::uint64_t number) const {
  number &= 0xff;
  if (!uniform) return vector_register(static_cast<std::uint32_t>(number));
  if (number == kZeroRegister || number == kUniformZeroRegister) return everywhere(Kind::absolute, 0);
  return uniform_[number];
}

void LaneTracker::write(bool uniform, std::uint64_t number, const LaneValues& values) {
  (uniform ? uniform_ : vector_)[number & 0xff] = values;
}

/// A word of constant bank 0 as the instruction's middle bits address it; LDCU keeps the offset one bit
/// lower.
LaneValues LaneTracker::constant(std::uint64_t low) const {
  const bool is_ldcu = (low & 0x1ff) == kLdcu;
  const auto offset = static_cast<std::uint32_t>(low >> (is_ldcu ? 37 : 38) & 0xffff);
  const bool bank_zero = (low >> 54 & 0x1f) == 0;
  const auto found = bank_zero ? constants_.find(offset) : constants_.end();
  return found == constants_.end() ? some_uniform_value() : everywhere(Kind::absolute, found->second);
}

LaneTracker::Operands LaneTracker::operands(const SassInstruction& instruction, bool uniform) const {
  const std::uint64_t low = instruction.low;
  Operands out{read(uniform, low >> 24), read(uniform, instruction.high), read(uniform, instruction.high)};
  // Tells which operand is not there but in the middle bits, and what these mean.
  const std::uint64_t source = low >> 9 & 7;
  if (source == 0) return out;
  LaneValues& operand = source == 2 || source == 3 || source == 7 ? out.c : out.b;
  if (source == 2 || source == 4) {
    operand = everywhere(Kind::absolute, wrapped(static_cast<std::int64_t>(low >> 32)));
  } else {
    operand = source == 3 || source == 5 ? constant(low) : read(source == 1 ? uniform : true, low >> 32);
    operand = negated(operand, bit(low, 63));
  }
  return out;
}

LaneValues LaneTracker::special(std::uint64_t number) const {
  LaneValues out = some_uniform_value();
  constexpr std::uint64_t kLane = 0x00, kThreadX = 0x21, kThreadZ = 0x23;
  if (number != kLane && (number < kThreadX || number > kThreadZ)) return out;
  out.kind = Kind::absolute;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    const std::int64_t width = std::max<std::int64_t>(1, block_.x),
                       height = std::max<std::int64_t>(1, block_.y);
    const std::int64_t row = lane / width;
    const std::int64_t threads[] = {lane % width, row % height, row / height};
    out.value[static_cast<std::size_t>(lane)] = number == kLane ? lane : threads[number - kThreadX];
  }
  return out;
}

std::optional<LaneValues> LaneTracker::evaluate(const SassInstruction& instruction, std::uint32_t operation,
                                                const Operands& from) const {
  const std::uint64_t flags = instruction.high;
  const LaneValues last = negated(from.c, bit(flags, 11));
  switch (operation) {
    case kMov:
      return from.b;
    case kIadd3:
      return sum(sum(negated(from.a, bit(flags, 8)), from.b), last);
    case kViadd:
      return sum(from.a, from.b);
    case kImad:
    case kImadWide:
      return sum(product(from.a, from.b), last);
    case kImadHigh:
      if (!both_absolute(from.a, from.b)) return not_followed(from.a, from.b, from.c);
      return sum(apply(from.a, from.b,
                       [](std::int64_t x, std::int64_t y) {
                         const auto low_word = [](std::int64_t v) {
                           return static_cast<std::uint64_t>(v) & 0xffffffff;
                         };
                         return static_cast<std::int64_t>(low_word(x) * low_word(y) >> 32);
                       }),
                 last);
    case kLea:
      return scaled_sum(from.a, from.b, from.c, flags);
    case kLop3:
      return logic(from.a, from.b, from.c, flags >> 8 & 0xff);
    case kShf:
      return shifted(from.a, from.b, from.c, flags);
    case kS2r:
      return special(flags >> 8 & 0xff);
    case kLdc:
    case kUldc:
    case kLdcu:
      return from.a.uniform() ? constant(instruction.low) : LaneValues{};
    default:
      return std::nullopt;
  }
}

void LaneTracker::step(const SassInstruction& instruction) {
  const std::uint32_t code = instruction.opcode() & 0x1ff;
  if (std::find(std::begin(kWithoutResult), std::end(kWithoutResult), code) != std::end(kWithoutResult))
    return;
  if (instruction.kind == SassKind::nothing) return;
  const bool uniform = (code >= 0x080 && code <= 0x0bf) || code == kR2ur || code == kS2ur || code == kLdcu;
  const std::uint64_t target = instruction.low >> 16 & 0xff;
  if (instruction.is_one_of({SassKind::global_load, SassKind::shared_load, SassKind::local_load})) {
    for (int word = 0; word < std::max(1, instruction.bytes / 4); ++word)
      write(false, target + static_cast<std::uint64_t>(word), {});
    return;
  }
  const Operands from = operands(instruction, uniform && code != kR2ur);
  const std::uint32_t operation = mirrored(code) != 0 ? mirrored(code) : code;
  const auto result = evaluate(instruction, operation, from);
  const LaneValues otherwise = uniform ? some_uniform_value() : not_followed(from.a, from.b, from.c);
  write(uniform, target, result.value_or(otherwise));
  const bool pair =
      operation == kImadWide ||
      ((operation == kLdc || operation == kUldc || operation == kLdcu) && instruction.bytes == 8);
  if (pair) write(uniform, target + 1, some_uniform_value());
}

double pieces_touched(const LaneValues& addresses, int bytes, std::int64_t piece_bytes) {
  const std::int64_t lowest = *std::min_element(addresses.value.begin(), addresses.value.end());
  std::set<std::int64_t> pieces;
  for (const std::int64_t address : addresses.value) {
    pieces.insert((address - lowest) / piece_bytes);
    pieces.insert((address - lowest + bytes - 1) / piece_bytes);
  }
  return static_cast<double>(pieces.size());
}

double bank_wavefronts(const LaneValues& addresses, int bytes) {
  const std::size_t lanes = addresses.value.size();
  if (bytes <= 4) return static_cast<double>(most_words_in_a_bank(addresses, bytes, 0, lanes));
  const std::size_t group = bytes == 8 ? lanes : lanes / 2;
  std::size_t wavefronts = 0;
  for (std::size_t first = 0; first < lanes; first += group) {
    const std::size_t last = first + group, middle = first + group / 2;
    const bool merged = in_pairs(addresses, first, last, 1) || in_pairs(addresses, first, last, 2);
    wavefronts += merged ? most_words_in_a_bank(addresses, bytes, first, last)
                         : most_words_in_a_bank(addresses, bytes, first, middle) +
                               most_words_in_a_bank(addresses, bytes, middle, last);
  }
  return static_cast<double>(wavefronts);
}

}  // namespace tiletune
