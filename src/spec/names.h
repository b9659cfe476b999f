#pragma once

#include <array>
#include <string_view>

#include "spec/tune_spec.h"

namespace tiletune {

/// A value of an enumeration with its spelling in JSON. These tables are the only place of the spellings.
template <typename T>
struct Named {
  T value;
  std::string_view name;
};

inline constexpr std::array<Named<ElementType>, 6> kElementTypes{{{ElementType::f16, "f16"},
                                                                  {ElementType::bf16, "bf16"},
                                                                  {ElementType::f32, "f32"},
                                                                  {ElementType::f64, "f64"},
                                                                  {ElementType::i32, "i32"},
                                                                  {ElementType::u32, "u32"}}};
inline constexpr std::array<Named<ScalarType>, 5> kScalarTypes{{{ScalarType::i32, "i32"},
                                                                {ScalarType::u32, "u32"},
                                                                {ScalarType::i64, "i64"},
                                                                {ScalarType::f32, "f32"},
                                                                {ScalarType::f64, "f64"}}};
inline constexpr std::array<Named<BufferRole>, 3> kBufferRoles{
    {{BufferRole::in, "in"}, {BufferRole::out, "out"}, {BufferRole::inout, "inout"}}};
inline constexpr std::array<Named<Swizzle>, 4> kSwizzles{{{Swizzle::none, "none"},
                                                          {Swizzle::bytes_32, "32B"},
                                                          {Swizzle::bytes_64, "64B"},
                                                          {Swizzle::bytes_128, "128B"}}};
inline constexpr std::array<Named<LibraryOperation>, 1> kLibraries{{{LibraryOperation::gemm, "gemm"}}};
inline constexpr std::array<Named<Ceiling>, 2> kCeilings{{{Ceiling::ffma, "ffma"}, {Ceiling::copy, "copy"}}};
inline constexpr std::array<Named<CachePolicy>, 4> kCachePolicies{{{CachePolicy::cold, "cold"},
                                                                   {CachePolicy::dirty, "dirty"},
                                                                   {CachePolicy::rotate, "rotate"},
                                                                   {CachePolicy::warm, "warm"}}};
inline constexpr std::array<Named<Baseline>, 3> kBaselines{
    {{Baseline::none, "none"}, {Baseline::cublas, "cublas"}, {Baseline::lt, "lt"}}};
inline constexpr std::array<Named<View>, 2> kViews{{{View::ranking, "ranking"}, {View::ladder, "ladder"}}};

}  // namespace tiletune
