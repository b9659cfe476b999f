#include "measure/library_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tiletune {

namespace {

using Mark = std::pair<std::string_view, BlasType>;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What stands behind a mark; nothing where it is not there.
std::optional<std::string_view> behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

std::optional<BlasType> first_of(std::span<const Mark> marks, std::string_view text) {
  for (const auto& [mark, type] : marks)
    if (has(text, mark)) return type;
  return std::nullopt;
}

std::optional<BlasType> type_at_start(std::string_view text) {
  constexpr std::array<Mark, 9> kTypes{{{"f16", BlasType::f16},
                                        {"bf16", BlasType::bf16},
                                        {"tf32", BlasType::tf32},
                                        {"f32", BlasType::f32},
                                        {"f64", BlasType::f64},
                                        {"e4m3", BlasType::e4m3},
                                        {"e5m2", BlasType::e4m3},
                                        {"i8", BlasType::i8},
                                        {"s8", BlasType::i8}}};
  for (const auto& [mark, type] : kTypes)
    if (text.starts_with(mark)) return type;
  return std::nullopt;
}

/// sm90_xmma_gemm_f32f32_tf32f32_f32_...: A and B; then what they are multiplied as.
std::optional<BlasType> type_of_xmma(std::string_view rest) {
  const auto stored = type_at_start(rest);
  if (stored != BlasType::f32) return stored;
  const auto multiplied = behind(rest, "_");
  return multiplied && multiplied->starts_with("tf32") ? BlasType::tf32 : stored;
}

/// nvjet_hsh_..., nvjet_sm100_qqtst_...: the inputs, the sums, the output. All of them use tensor cores.
std::optional<BlasType> type_of_nvjet(std::string_view rest) {
  if (rest.starts_with("sm")) rest = behind(rest, "_").value_or("");
  if (rest.starts_with("qq") || rest.starts_with("qr") || rest.starts_with("rq")) return BlasType::e4m3;
  constexpr std::array<std::pair<char, BlasType>, 4> kLetters{
      {{'h', BlasType::f16}, {'t', BlasType::bf16}, {'s', BlasType::tf32}, {'d', BlasType::f64}}};
  for (const auto& [letter, type] : kLetters)
    if (!rest.empty() && rest.front() == letter) return type;
  return std::nullopt;
}

/// Names of CUTLASS and of older kernels: types, else the instruction of tensor cores, else the routine.
std::optional<BlasType> type_of_words(std::string_view name) {
  constexpr std::array<Mark, 30> kMarks{{
      {"e4m3", BlasType::e4m3},     {"e5m2", BlasType::e4m3},      {"bf16", BlasType::bf16},
      {"bfloat16", BlasType::bf16}, {"tf32", BlasType::tf32},      {"int8", BlasType::i8},
      {"i16832", BlasType::i8},     {"i8816", BlasType::i8},       {"gemm_s8_s8", BlasType::i8},
      {"imma", BlasType::i8},       {"fp16", BlasType::f16},       {"6__half", BlasType::f16},
      {"gemm_f16", BlasType::f16},  {"_f16_s", BlasType::f16},     {"f16_f16", BlasType::f16},
      {"f16gemm", BlasType::f16},   {"h16816", BlasType::f16},     {"h1688", BlasType::f16},
      {"h884", BlasType::f16},      {"hgemm", BlasType::f16},      {"s884", BlasType::f16},
      {"d884", BlasType::f64},      {"d16816", BlasType::f64},     {"dgemm", BlasType::f64},
      {"gemm_f64", BlasType::f64},  {"s1688gemm", BlasType::tf32}, {"ffma", BlasType::f32},
      {"sgemm", BlasType::f32},     {"gemm_f32", BlasType::f32},   {"sgemv", BlasType::f32},
  }};
  return first_of(kMarks, name);
}

std::string_view name_of(BlasType type) {
  constexpr std::array<std::string_view, 9> kNames{"f16",  "bf16", "tf32", "f32", "f64",
                                                   "e4m3", "e5m2", "i8",   "i32"};
  return kNames.at(static_cast<std::size_t>(type));
}

/// As kernels' names tell it.
BlasType asked_for(const BlasGemm& gemm) {
  if (gemm.a == BlasType::e5m2) return BlasType::e4m3;
  return gemm.a == BlasType::f32 && gemm.compute == BlasType::tf32 ? BlasType::tf32 : gemm.a;
}

}  // namespace

std::optional<BlasType> multiplied_type(std::string_view kernel) {
  if (has(kernel, "splitKreduce") || has(kernel, "scal_kernel")) return std::nullopt;
  if (const auto rest = behind(kernel, "xmma_gemm_")) return type_of_xmma(*rest);
  if (const auto rest = behind(kernel, "nvjet_")) return type_of_nvjet(*rest);
  return type_of_words(kernel);
}

std::string type_fault(const BlasGemm& gemm, std::span<const std::string> kernels) {
  const BlasType asked = asked_for(gemm);
  std::string fault;
  for (const std::string& kernel : kernels) {
    const auto found = multiplied_type(kernel);
    if (found == asked) return "";
    if (found && fault.empty())
      fault = fmt::format("its kernel {} multiplies {}, and {} was asked for", kernel, name_of(*found),
                          name_of(asked));
  }
  return fault;
}

}  // namespace tiletune
