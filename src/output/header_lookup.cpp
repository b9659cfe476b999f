#include "output/header_lookup.h"

namespace tiletune {

const char* const kHeaderSizes =
    "// The most sizes that a problem of this header has, and at least 4.\n"
    "inline constexpr int kMostSizes = ";

const char* const kHeaderTypes = R"(
// Whether a kernel may be launched for sizes. Recorded: the entry was measured on this problem. Hold: all conditions of its entry hold for
// them. Not known: no condition is known to be violated, but one was not recorded or cannot be expressed in C++, or the query
// has no sizes. Refused: a condition is violated.
enum class Constraints { recorded, hold, not_known, refused };

struct Parameter {
  const char* name;
  const char* value;  // as it is written in C++ source
};

struct Entry {
  const char* gpu;   // as the driver calls it
  const char* uuid;  // of the GPU that it was measured on; "" when not known
  int compute_capability;     // 90 for 9.0; 0 when not known
  const char* operation;      // "gemm"
  const char* options;        // of the operation: "layout=nt"; "" where it has none
  const char* element_types;  // "f32"
  const char* scalars;        // "alpha=1 beta=0"
  bool beta_is_zero;          // the class of the scalars: whether C is read
  const char* cache;          // the L2 cache before a launch: "cold", "dirty", "rotate", "warm"
  const char* source;         // "measured", "predicted", "replayed", "imported"
  bool unverified;            // its results were compared with nothing; see source for what was not timed here
  const char* problem;        // "4096x4096x4096", "1000x77x513 lda=520"
  long long sizes[kMostSizes];  // M, N, K of a gemm; 0: none
  bool dense;                 // without leading dimensions
  const char* kernel_template;
  const char* kernel_expression;
  const char* compile_options;  // JSON array
  const Parameter* parameters;
  int parameter_count;
  unsigned grid_of_problem[3];  // for its own problem: see Found::grid; 0: not known; the same holds below
  unsigned block[3];
  unsigned dynamic_shared_bytes;
  double expected_us;
  const char* size_conditions;  // what must hold of other sizes: "columns % 4 == 0; rows < 65536"; "": nothing is known
                                // or nothing must
  Constraints (*constraints_at)(const long long* sizes);  // whether that holds; null: not known
};
)";

const char* const kHeaderLookup = R"(
// How far the lookup had to look for a GPU, and for a problem. Not known: the query or the entry does not say
// the compute capability, or the sizes, so that nothing tells how well the entry fits.
enum class GpuMatch { uuid, model, compute_capability, any, not_known, none };
enum class ProblemMatch { exact, same_shape_class, other_shape_class, not_known, none };

constexpr const char* text(GpuMatch match) {
  switch (match) {
    case GpuMatch::uuid: return "tuned on this GPU";
    case GpuMatch::model: return "tuned on a GPU of this model";
    case GpuMatch::compute_capability: return "tuned on another model of this compute capability";
    case GpuMatch::any: return "tuned on a GPU of another compute capability";
    case GpuMatch::not_known: return "tuned on a GPU that may differ: its compute capability is unknown";
    case GpuMatch::none: break;
  }
  return "nothing that may be used was tuned for this operation, these element types and this template";
}

constexpr const char* text(ProblemMatch match) {
  switch (match) {
    case ProblemMatch::exact: return "for this problem";
    case ProblemMatch::same_shape_class: return "for the nearest problem of this shape class";
    case ProblemMatch::other_shape_class: return "for the nearest problem, of another shape class";
    case ProblemMatch::not_known: return "for a problem that may differ: its sizes are unknown";
    case ProblemMatch::none: break;
  }
  return "for no problem";
}

constexpr const char* text(Constraints constraints) {
  switch (constraints) {
    case Constraints::recorded: return "recorded for these sizes";
    case Constraints::hold: return "the constraints hold for these sizes";
    case Constraints::not_known: return "whether the constraints hold for these sizes is unknown";
    case Constraints::refused: break;
  }
  return "the constraints do not hold for these sizes";
}

// The query. Fields left at their defaults count as unknown.
struct Query {
  long long sizes[kMostSizes] = {};  // M, N, K of a gemm
  const char* gpu = "";
  const char* uuid = "";
  int compute_capability = 0;
  bool beta_is_zero = true;
  const char* operation = "gemm";
  const char* options = "";
  const char* element_types = "f32";
  const char* kernel_template = "";  // "": any that does the operation
  const char* scalars = "";          // "eps=1e-05"; "": any, of the newest sweep where entries differ in nothing else
  bool accept_unknown = false;       // whether an entry may be found whose constraints are not known for the sizes
};

struct Found {
  const Entry* entry = nullptr;
  GpuMatch gpu = GpuMatch::none;
  ProblemMatch problem = ProblemMatch::none;
  bool same_scalars_class = false;
  Constraints constraints = Constraints::not_known;
  // The blocks to launch: three numbers, for the very problem of the entry. Null for any other, which takes other
  // numbers, and where they are not known.
  const unsigned* grid = nullptr;
};

namespace detail {

constexpr bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// "NVIDIA H200" as the driver calls it and "H200" as a predicted entry does are one model.
constexpr const char* model_of(const char* gpu) {
  const char* rest = gpu;
  for (const char* vendor = "NVIDIA "; *vendor != '\0'; ++vendor, ++rest) {
    if (*rest != *vendor) return gpu;
  }
  return rest;
}

// log2, interpolated linearly between powers of two; 0 for what is not a size.
constexpr double log2_of(long long size) {
  if (size < 1) return 0;
  double floor = 0;
  double rest = static_cast<double>(size);
  while (rest >= 2) {
    rest /= 2;
    floor += 1;
  }
  return floor + rest - 1;
}

constexpr double magnitude(double x) { return x < 0 ? -x : x; }

// Even (within a factor of 2), uneven (within a factor of 8), or extreme.
constexpr int bucket(double log2_ratio) {
  const int size = magnitude(log2_ratio) < 1 ? 0 : magnitude(log2_ratio) < 3 ? 1 : 2;
  return log2_ratio < 0 ? -size : size;
}

// Of the first size against the second, and of the third against their mean (geometric): tall or wide, shallow
// or deep.
constexpr bool same_shape_class(const long long* a, const long long* b) {
  const double a0 = log2_of(a[0]), a1 = log2_of(a[1]), a2 = log2_of(a[2]);
  const double b0 = log2_of(b[0]), b1 = log2_of(b[1]), b2 = log2_of(b[2]);
  return bucket(a0 - a1) == bucket(b0 - b1) &&
         bucket(a2 - (a0 + a1) / 2) == bucket(b2 - (b0 + b1) / 2);
}

constexpr double distance(const long long* a, const long long* b) {
  double sum = 0;
  for (int i = 0; i < kMostSizes; ++i) sum += magnitude(log2_of(a[i]) - log2_of(b[i]));
  return sum;
}

constexpr bool same_sizes(const long long* a, const long long* b) {
  for (int i = 0; i < kMostSizes; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

constexpr bool is_on(GpuMatch match, const Entry& entry, const Query& query) {
  switch (match) {
    case GpuMatch::uuid: return *query.uuid != '\0' && equal(entry.uuid, query.uuid);
    case GpuMatch::model: return *query.gpu != '\0' && equal(model_of(entry.gpu), model_of(query.gpu));
    case GpuMatch::compute_capability:
      return query.compute_capability > 0 && entry.compute_capability == query.compute_capability;
    case GpuMatch::any: return true;
    case GpuMatch::not_known: case GpuMatch::none: break;
  }
  return false;
}

constexpr ProblemMatch match(const Entry& entry, const Query& query) {
  if (entry.sizes[0] == 0 || query.sizes[0] == 0) return ProblemMatch::not_known;
  if (entry.dense && same_sizes(entry.sizes, query.sizes)) return ProblemMatch::exact;
  return same_shape_class(entry.sizes, query.sizes) ? ProblemMatch::same_shape_class
                                                    : ProblemMatch::other_shape_class;
}

constexpr Constraints constraints(const Entry& entry, const Query& query) {
  if (match(entry, query) == ProblemMatch::exact) return Constraints::recorded;
  if (query.sizes[0] == 0 || entry.constraints_at == nullptr) return Constraints::not_known;
  return entry.constraints_at(query.sizes);
}

// Without sizes there is nothing to launch yet.
constexpr bool is_allowed(const Entry& entry, const Query& query) {
  const Constraints known = constraints(entry, query);
  if (known == Constraints::not_known) return query.accept_unknown || query.sizes[0] == 0;
  return known != Constraints::refused;
}

// Scalars of the class wanted before others, then the very problem, then one whose constraints are known to hold, then the
// nearer problem, then dense and measured before others. Of entries that are equal in all that, the first in kEntries is
// taken: that of the newest sweep.
constexpr bool goes_before(const Entry& a, const Entry& b, const Query& query) {
  const bool a_scalars = a.beta_is_zero == query.beta_is_zero;
  const bool b_scalars = b.beta_is_zero == query.beta_is_zero;
  if (a_scalars != b_scalars) return a_scalars;
  const Constraints a_constraints = constraints(a, query);
  const Constraints b_constraints = constraints(b, query);
  if (a_constraints != b_constraints) return static_cast<int>(a_constraints) < static_cast<int>(b_constraints);
  const ProblemMatch a_match = match(a, query);
  const ProblemMatch b_match = match(b, query);
  if (a_match != b_match) return static_cast<int>(a_match) < static_cast<int>(b_match);
  const bool is_known = a_match != ProblemMatch::not_known;
  const double a_distance = is_known ? distance(a.sizes, query.sizes) : 0;
  const double b_distance = is_known ? distance(b.sizes, query.sizes) : 0;
  if (a_distance < b_distance || b_distance < a_distance) return a_distance < b_distance;
  if (a.dense != b.dense) return a.dense;
  return equal(a.source, "measured") && !equal(b.source, "measured");
}

constexpr bool does(const Entry& entry, const Query& query) {
  return equal(entry.operation, query.operation) && equal(entry.options, query.options) &&
         equal(entry.element_types, query.element_types) &&
         (*query.scalars == '\0' || equal(entry.scalars, query.scalars)) &&
         (*query.kernel_template == '\0' || equal(entry.kernel_template, query.kernel_template));
}

constexpr const Entry* best(GpuMatch level, const Query& query) {
  const Entry* best = nullptr;
  for (const Entry& entry : kEntries) {
    const bool fits = does(entry, query) && is_on(level, entry, query) && is_allowed(entry, query);
    if (fits && (best == nullptr || goes_before(entry, *best, query))) best = &entry;
  }
  return best;
}

constexpr Found found(const Entry& entry, GpuMatch level, const Query& query) {
  const ProblemMatch problem = match(entry, query);
  const bool has_grid = problem == ProblemMatch::exact && entry.grid_of_problem[0] > 0;
  const bool says_gpu = query.compute_capability > 0 && entry.compute_capability > 0;
  const GpuMatch gpu = level == GpuMatch::any && !says_gpu ? GpuMatch::not_known : level;
  return {&entry, gpu, problem, entry.beta_is_zero == query.beta_is_zero, constraints(entry, query),
          has_grid ? entry.grid_of_problem : nullptr};
}

constexpr Found nothing(const Query& query) {
  Found found;
  for (const Entry& entry : kEntries) {
    if (!does(entry, query)) continue;
    found.constraints = constraints(entry, query);
    if (found.constraints == Constraints::not_known) break;
  }
  return found;
}

}  // namespace detail

// Of the first of these that has any entry of the operation and element types that may be launched: this very GPU (by its
// UUID), its model, its compute capability, any GPU. There, the entry of the problem or of the nearest one. Where the query has
// sizes, an entry is the answer only if they were recorded or its constraints hold for them, or are not known and the query
// accepts that. Without an answer, constraints is not_known where accept_unknown would give one.
constexpr Found find(const Query& query) {
  constexpr GpuMatch kLevels[] = {GpuMatch::uuid, GpuMatch::model, GpuMatch::compute_capability,
                                  GpuMatch::any};
  for (const GpuMatch level : kLevels) {
    if (const Entry* entry = detail::best(level, query)) return detail::found(*entry, level, query);
  }
  return detail::nothing(query);
}
)";

const char* const kHeaderTimes = R"(
// Sizes that were tuned, and the entry that was the fastest there.
struct Tuned {
  long long sizes[kMostSizes];
  int entry;
};

// A range of kEntries whose times can be compared, and its range of kTuned. The last is one past the end.
struct Portfolio {
  int first, last;
  int first_tuned, last_tuned;
};

namespace detail {

// Longer than any kernel takes.
inline constexpr double kNever = 1e100;

constexpr double size(long long n) { return static_cast<double>(n); }
constexpr double number(Value a) {
  return a.kind == Value::integer && a.whole >= 0 ? static_cast<double>(a.whole) : kNever;
}
constexpr double shorter_than_never(double time_us) { return time_us < kNever ? time_us : kNever; }

// The predicted time of each entry's kernel in us. n: the sizes; waves: how often each launch fills the GPU.
)";

const char* const kHeaderChoice = R"(
namespace detail {

constexpr bool fits(const Entry& entry, GpuMatch level, const Query& query, bool same_scalars_class) {
  return does(entry, query) && is_on(level, entry, query) && (entry.beta_is_zero == query.beta_is_zero) == same_scalars_class;
}

struct Chosen {
  const Entry* entry = nullptr;
  bool is_tuned = false;  // it was the fastest on these sizes
};

constexpr Chosen fastest(const Portfolio& portfolio, GpuMatch level, const Query& query, bool same_scalars_class) {
  for (int i = portfolio.first_tuned; i < portfolio.last_tuned; ++i) {
    const Entry& entry = kEntries[kTuned[i].entry];
    if (same_sizes(kTuned[i].sizes, query.sizes) && fits(entry, level, query, same_scalars_class) &&
        constraints(entry, query) != Constraints::refused)
      return {&entry, true};
  }
  const Entry* best = nullptr;
  double best_us = 0;
  for (int i = portfolio.first; i < portfolio.last; ++i) {
    if (!fits(kEntries[i], level, query, same_scalars_class) || !is_allowed(kEntries[i], query)) continue;
    const double time_us = kTimes[i] == nullptr ? kNever : kTimes[i](query.sizes);
    if (best != nullptr && time_us >= best_us) continue;
    best = &kEntries[i];
    best_us = time_us;
  }
  return {best, false};
}

constexpr Chosen chosen(GpuMatch level, const Query& query) {
  constexpr bool kSameClassFirst[] = {true, false};
  for (const bool same_scalars_class : kSameClassFirst) {
    for (const Portfolio& portfolio : kPortfolios) {
      const Chosen chosen = fastest(portfolio, level, query, same_scalars_class);
      if (chosen.entry != nullptr) return chosen;
    }
  }
  return {};
}

}  // namespace detail

// The portfolio's entry that was the fastest on these sizes, or else, of those that find() may answer with, the one with the
// shortest predicted time. Looks for GPUs in the same order as find(), and falls back to find() where the query has no sizes.
// Entry::expected_us is the time on the entry's own problem.
constexpr Found choose(const Query& query) {
  if (query.sizes[0] == 0) return find(query);
  constexpr GpuMatch kLevels[] = {GpuMatch::uuid, GpuMatch::model, GpuMatch::compute_capability,
                                  GpuMatch::any};
  for (const GpuMatch level : kLevels) {
    const detail::Chosen chosen = detail::chosen(level, query);
    if (chosen.entry == nullptr) continue;
    Found found = detail::found(*chosen.entry, level, query);
    if (chosen.is_tuned) {
      found.problem = ProblemMatch::exact;
      found.constraints = Constraints::recorded;
    }
    return found;
  }
  return detail::nothing(query);
}
)";

}  // namespace tiletune
