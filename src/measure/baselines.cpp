#include "measure/baselines.h"

#include <fmt/format.h>

#include "base/text.h"
#include "measure/measure_kernel.h"

namespace tiletune {

namespace {

using Mark = std::pair<std::string_view, ElementType>;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What stands behind a mark; nothing where it is not there.
std::optional<std::string_view> behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

std::optional<ElementType> type_at_start(std::string_view text) {
  constexpr std::array<Mark, 9> kTypes{{{"f16", ElementType::f16},
                                        {"bf16", ElementType::bf16},
                                        {"tf32", ElementType::tf32},
                                        {"f32", ElementType::f32},
                                        {"f64", ElementType::f64},
                                        {"e4m3", ElementType::e4m3},
                                        {"e5m2", ElementType::e4m3},
                                        {"i8", ElementType::i8},
                                        {"s8", ElementType::i8}}};
  for (const auto& [mark, type] : kTypes)
    if (text.starts_with(mark)) return type;
  return std::nullopt;
}

/// nvjet_hsh_..., nvjet_sm100_qqtst_...: the inputs, the sums, the output. All of them use tensor cores.
std::optional<ElementType> type_of_nvjet(std::string_view rest) {
  if (rest.starts_with("sm")) rest = behind(rest, "_").value_or("");
  if (rest.starts_with("qq") || rest.starts_with("qr") || rest.starts_with("rq")) return ElementType::e4m3;
  constexpr std::array<std::pair<char, ElementType>, 4> kLetters{
      {{'h', ElementType::f16}, {'t', ElementType::bf16}, {'s', ElementType::tf32}, {'d', ElementType::f64}}};
  for (const auto& [letter, type] : kLetters)
    if (!rest.empty() && rest.front() == letter) return type;
  return std::nullopt;
}

/// Names of CUTLASS and of older kernels: types, else the instruction of tensor cores, else the routine.
std::optional<ElementType> type_of_words(std::string_view name) {
  constexpr std::array<Mark, 30> kMarks{{
      {"e4m3", ElementType::e4m3},     {"e5m2", ElementType::e4m3},      {"bf16", ElementType::bf16},
      {"bfloat16", ElementType::bf16}, {"tf32", ElementType::tf32},      {"int8", ElementType::i8},
      {"i16832", ElementType::i8},     {"i8816", ElementType::i8},       {"gemm_s8_s8", ElementType::i8},
      {"imma", ElementType::i8},       {"fp16", ElementType::f16},       {"6__half", ElementType::f16},
      {"gemm_f16", ElementType::f16},  {"_f16_s", ElementType::f16},     {"f16_f16", ElementType::f16},
      {"f16gemm", ElementType::f16},   {"h16816", ElementType::f16},     {"h1688", ElementType::f16},
      {"h884", ElementType::f16},      {"hgemm", ElementType::f16},      {"s884", ElementType::f16},
      {"d884", ElementType::f64},      {"d16816", ElementType::f64},     {"dgemm", ElementType::f64},
      {"gemm_f64", ElementType::f64},  {"s1688gemm", ElementType::tf32}, {"ffma", ElementType::f32},
      {"sgemm", ElementType::f32},     {"gemm_f32", ElementType::f32},   {"sgemv", ElementType::f32},
  }};
  for (const auto& [mark, type] : kMarks)
    if (has(name, mark)) return type;
  return std::nullopt;
}

/// What the trials of a library's ways may take together, by the time of their launches.
constexpr double kTrialsUs = 0.7e6;
constexpr int kTrialSamples = 3;
/// A trial with launches longer than this has one sample.
constexpr double kLongLaunchUs = 20e3;
/// A way that is slower than the fastest by this factor is given up.
constexpr double kGivenUp = 1.2;
/// As many as this are timed in full, if they come that close to the fastest.
constexpr std::size_t kFinalists = 3;
constexpr double kFinalistsWithin = 1.03;

/// A way that is tried.
struct Candidate {
  LibraryWay way;
  Measured measured;
  double estimate_us = 0;

  double median_us() const { return measured.timing->median_us; }
};
using Candidates = std::vector<Candidate>;

bool is_faster(const Candidate& a, const Candidate& b) { return a.median_us() < b.median_us(); }

class Bench {
 public:
  Bench(Gpu& gpu, ProblemBuffers& buffers, Timer& timer)
      : gpu_(gpu), buffers_(buffers), timer_(timer), verifier_(gpu, buffers, timer) {}

  Baselines result;

  void add(std::string_view name, ComputeLibrary& library) {
    std::vector<LibraryWay> ways;
    try {
      ways = library.ways(buffers_);
    } catch (const CudaError&) {
      throw;
    } catch (const GpuError& error) {
      note(fmt::format("{}: {}", name, error.what()));
    }
    for (auto first = ways.begin(); first != ways.end();) {
      const auto last =
          std::find_if(first, ways.end(), [&](const auto& way) { return way.name != first->name; });
      Candidates candidates;
      for (; first != last; ++first) {
        Candidate& candidate = candidates.emplace_back();
        candidate.measured.name = first->name;
        candidate.measured.library = first->library;
        candidate.way = std::move(*first);
      }
      const bool is_only_one = candidates.front().way.library.algorithm.empty();
      is_only_one ? add_only(std::move(candidates.front())) : add_fastest(std::move(candidates));
    }
  }

  void note(const std::string& left_out) {
    left_out_ += (left_out_.empty() ? "left out as a baseline: " : "; ") + left_out;
    result.note = both();
  }

 private:
  void add_only(Candidate candidate) {
    if (const std::string fault = fault_of(candidate); !fault.empty())
      return note(fmt::format("{}: {}", candidate.measured.name, fault));
    candidate.measured.timing = timing(candidate, buffers_.request().policy, {});
    keep(std::move(candidate));
  }

  void add_fastest(Candidates candidates) {
    Candidates tried = try_all(std::move(candidates));
    if (tried.empty()) return;
    std::sort(tried.begin(), tried.end(), is_faster);
    const double fastest_us = tried.front().median_us();
    MeasurePolicy policy = buffers_.request().policy;
    policy.screening = 0;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (i == kFinalists || tried[i].median_us() > kFinalistsWithin * fastest_us) {
        tried.resize(i);
        break;
      }
      tried[i].measured.timing = timing(tried[i], policy, fastest_us);
    }
    keep(std::move(*std::min_element(tried.begin(), tried.end(), is_faster)));
  }

  /// Returns those that are right and were not given up, crudely timed.
  Candidates try_all(Candidates candidates) {
    const std::string name = candidates.front().way.name;
    Candidates tried;
    std::vector<std::string> faults;
    std::optional<double> fastest_us;
    double spent_us = 0;
    std::size_t count = 0;
    for (; count < candidates.size() && spent_us < kTrialsUs; ++count) {
      Candidate& candidate = candidates[count];
      if (const std::string fault = fault_of(candidate); !fault.empty()) {
        faults.push_back(candidate.measured.library->algorithm + ": " + fault);
        continue;
      }
      spent_us += candidate.estimate_us;
      // The first launch also loads the kernel.
      if (fastest_us && candidate.estimate_us - kLongLaunchUs > kGivenUp * *fastest_us) continue;
      const Timing& timing = candidate.measured.timing.emplace(trial(candidate, fastest_us));
      spent_us += timing.mean_us * static_cast<double>(timing.times_us.size()) * timing.batch;
      fastest_us = std::min(fastest_us.value_or(timing.median_us), timing.median_us);
      tried.push_back(std::move(candidate));
    }
    if (count < candidates.size()) {
      for (Candidate& candidate : tried)
        candidate.measured.library->algorithm += fmt::format(" ({} tried)", count);
    }
    if (!faults.empty()) {
      note(fmt::format("{} of {}'s algorithms{}: {}", faults.size(), name,
                       faults.size() > 1 ? ", the first" : "", faults.front()));
    }
    return tried;
  }

  Timing trial(const Candidate& candidate, std::optional<double> fastest_us) {
    MeasurePolicy policy = buffers_.request().policy;
    policy.warmup = 1;
    policy.samples = candidate.estimate_us > kLongLaunchUs ? 1 : kTrialSamples;
    policy.screening = kGivenUp;
    return timing(candidate, policy, fastest_us);
  }

  Timing timing(const Candidate& candidate, const MeasurePolicy& policy, std::optional<double> leader_us) {
    return summarise(timer_.time(policy, candidate.way.subject, candidate.estimate_us, leader_us).samples);
  }

  /// Launches once. Why the candidate cannot be a baseline; empty when it can.
  std::string fault_of(Candidate& candidate) {
    const LibraryWay& way = candidate.way;
    const bool is_fp32 =
        way.product && way.product->a == ElementType::f32 && way.product->compute == ElementType::f32;
    try {
      const Verification verdict =
          verifier_.check({[&] { way.subject.launch(0); }, nullptr, way.on_first_gpu}, 1, 0);
      candidate.estimate_us = verdict.launch_us;
      candidate.measured.accuracy = verdict.accuracy;
      if (verdict.finding) {
        buffers_.rebuild();
        const bool errs = verdict.accuracy && verdict.accuracy->error_bound &&
                          verdict.accuracy->relative_error > *verdict.accuracy->error_bound;
        return verdict.finding->reason + (errs && is_fp32 ? "; TF32 is suspected" : "");
      }
    } catch (const CudaError&) {
      throw;
    } catch (const GpuError& error) {
      return error.what();
    }
    if (!way.product) return "";
    const std::vector<std::string> kernels = kernels_of(way.subject);
    candidate.measured.library->kernels = join(kernels, " + ");
    for (const std::string& kernel : kernels) {
      const std::string_view mark = tensor_core_mark(kernel);
      if (is_fp32 && !mark.empty())
        return fmt::format("its kernel {} does not multiply in FP32 ('{}')", kernel, mark);
    }
    candidate.measured.warning = type_fault(*way.product, kernels);
    return "";
  }

  /// None where the launch cannot be recorded.
  std::vector<std::string> kernels_of(const Subject& subject) {
    try {
      return Graph(gpu_, [&] { subject.launch(0); }).kernel_names();
    } catch (const GpuError&) {
      return {};
    }
  }

  void keep(Candidate candidate) {
    if (!candidate.measured.warning.empty())
      remark(fmt::format("{}: {}", candidate.measured.name, candidate.measured.warning));
    result.runnable.push_back(std::move(candidate.way));
    result.measured.push_back(std::move(candidate.measured));
  }

  /// On a baseline that stays.
  void remark(const std::string& remark) {
    remarks_ += (remarks_.empty() ? "" : "\n") + remark;
    result.note = both();
  }
  std::string both() const {
    return left_out_ + (left_out_.empty() || remarks_.empty() ? "" : "\n") + remarks_;
  }

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
  Verifier verifier_;
  std::string left_out_, remarks_;
};

}  // namespace

std::optional<ElementType> multiplied_type(std::string_view kernel) {
  if (has(kernel, "splitKreduce") || has(kernel, "scal_kernel")) return std::nullopt;
  // sm90_xmma_gemm_f32f32_tf32f32_f32_...: A and B; then what they are multiplied as.
  if (const auto rest = behind(kernel, "xmma_gemm_")) {
    const auto stored = type_at_start(*rest);
    const bool is_tf32 = behind(*rest, "_").value_or("").starts_with("tf32");
    return stored == ElementType::f32 && is_tf32 ? ElementType::tf32 : stored;
  }
  if (const auto rest = behind(kernel, "nvjet_")) return type_of_nvjet(*rest);
  return type_of_words(kernel);
}

std::string type_fault(const BlasGemm& gemm, std::span<const std::string> kernels) {
  // As kernels' names tell it.
  const ElementType asked = gemm.a == ElementType::e5m2 ? ElementType::e4m3
                            : gemm.a == ElementType::f32 && gemm.compute == ElementType::tf32
                                ? ElementType::tf32
                                : gemm.a;
  std::string fault;
  for (const std::string& kernel : kernels) {
    const auto found = multiplied_type(kernel);
    if (found == asked) return "";
    if (found && fault.empty())
      fault =
          fmt::format("its kernel {} multiplies {}, and {} was asked for", kernel, name(*found), name(asked));
  }
  return fault;
}

Baselines measure_baselines(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Libraries& libraries) {
  Bench bench(gpu, buffers, timer);
  for (const auto& [known, library, why_not] : libraries.opened()) {
    if (!known->is_baseline_of(buffers.request())) continue;
    library ? bench.add(known->name, *library) : bench.note(fmt::format("{}: {}", known->name, why_not));
  }
  return std::move(bench.result);
}

std::string_view tensor_core_mark(std::string_view kernel) {
  // Types, and the shapes of mma instructions with their accumulator before them.
  constexpr std::array<std::string_view, 7> kMarks{"tf32",   "bf16", "tensorop", "s1688",
                                                   "s16816", "s884", "h884"};
  for (const std::string_view mark : kMarks) {
    if (const std::size_t at = kernel.find(mark); at != std::string_view::npos)
      return kernel.substr(at, mark.size());
  }
  return {};
}

}  // namespace tiletune
