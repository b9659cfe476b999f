#include "inspect/pointer_uses.h"

#include <gtest/gtest.h>

#include <string>

namespace tiletune {
namespace pointer_uses_test {

/// "i" where what it holds is an index, "r", "w", "rw", "?" of an address that is passed on, "t" of a
/// texture, for each parameter of a kernel with this body and parameters p_0 to p_3, of which %rd0 to %rd3
/// hold the values.
std::string uses_of(const std::string& body) {
  std::string text = ".version 9.0\n.visible .entry other()\n{\nret;\n}\n.visible .entry p(\n";
  for (int i = 0; i < 4; ++i)
    text += "  .param .u64 .ptr .align 1 p_" + std::to_string(i) + (i < 3 ? ",\n" : "\n)\n");
  text += ".maxntid 64, 1, 1\n{\n  .reg .b64 \t%rd<10>;\n";
  for (int i = 0; i < 4; ++i)
    text += "  ld.param.u64 \t%rd" + std::to_string(i) + ", [p_" + std::to_string(i) + "];\n";
  std::string all;
  for (const PointerUse& use : pointer_uses(text + body + "\n}\n", "p")) {
    all += all.empty() ? "" : " ";
    const std::string own = std::string(use.read ? "r" : "") + (use.written ? "w" : "") +
                            (use.escaped ? "?" : "") + (use.texture ? "t" : "") + (use.indexes ? "i" : "");
    all += own.empty() ? "-" : own;
  }
  return all;
}

TEST(PointerUses, LoadsReadAndStoresWrite) {
  EXPECT_EQ(uses_of("ld.global.nc.v2.f32 {%f1, %f2}, [%rd0+8];\nst.global.v2.f32 [%rd1], {%f1, %f2};\n"
                    "red.global.add.f32 [%rd2], %f1;"),
            "r w rw -");
  EXPECT_EQ(uses_of("@%p1 atom.global.add.u32 %r1, [%rd3+4], 1;\n.loc 1 2 3\nst.global.u32 [%rd0], %r1;"),
            "w - - rw");
  EXPECT_EQ(uses_of("cp.async.cg.shared.global [%r1], [%rd0], 16;\n"
                    "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;\n"
                    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r8, %r9}, [%rd2], %r3;\n"
                    "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], {%f1, %f2}, %r3;"),
            "r w r w");
  EXPECT_EQ(uses_of("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd0, {%r1}];\nnew.kind [%rd1];"), "rt rw - -");
}

TEST(PointerUses, InlineAssemblyIsReadAsItIsWritten) {
  EXPECT_EQ(
      uses_of(
          "st.global.f32[%rd0],%f1;\nldx:st.global.f32 [%rd1], %f1;\n// .func \nst.global.f32 [%rd2], %f1;\n"
          ".loc 1 2 3 st.global.f32 [%rd3], %f1;"),
      "w w w rw");
  EXPECT_EQ(uses_of("cp.async.bulk.prefetch.L2.global [%rd0], 128;\n@!%p1 ld.global.L2::cache_hint.f32 %f1, "
                    "[%rd1], %rd2;\n"
                    "$L__1: @%p1 st.global.f32 [%rd3], %f1;"),
            "r r - w");
}

TEST(PointerUses, AddressesAreFollowedThroughArithmeticAndLoops) {
  EXPECT_EQ(uses_of("cvta.to.global.u64 %rd4, %rd0;\nmad.wide.s32 %rd5, %r1, 4, %rd4;\n"
                    "selp.b64 %rd6, %rd5, %rd1, %p1;\nst.global.f32 [%rd6], 0f00000000;"),
            "w w - -");
  EXPECT_EQ(uses_of("$L__BB0_1:\n  ld.global.f32 %f1, [%rd6];\n  mov.u64 %rd6, %rd5;\n"
                    "  add.s64 %rd5, %rd2, 4;\n  setp.eq.s64 %p1, %rd3, 0;\n  @%p1 bra $L__BB0_1;"),
            "- - r -");
  EXPECT_EQ(uses_of("ld.global.u64 %rd4, [%rd0];\nst.global.u32 [%rd4], %r1;"), "ri - - -")
      << "what a buffer holds is not the address of another one";
}

TEST(PointerUses, WhatIsLoadedMayBeAnIndex) {
  EXPECT_EQ(uses_of("ld.global.u32 %r1, [%rd0];\nmad.wide.u32 %rd4, %r1, 4, %rd1;\n"
                    "ld.global.u32 %r2, [%rd4];\nst.global.u32 [%rd2], %r2;\n"
                    "atom.global.add.u32 %r3, [%rd3], 1;\nmov.u32 %r4, smem;\nadd.u32 %r5, %r4, %r3;\n"
                    "st.shared.u32 [%r5], 0;"),
            "ri r w rwi");
}

TEST(PointerUses, WhatIsPassedOnIsNotKnown) {
  EXPECT_EQ(uses_of("{ // callseq 0, 0\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\n"
                    "call.uni (retval0), f, (param0);\n}\nst.local.v2.u64 [%SP], {%rd2, %rd3};"),
            "- ? ? ?");
  EXPECT_EQ(uses_of("mov.b64 %rd4, p_1;\nld.param.u64 %rd5, [%rd4+8];\nst.global.u32 [%rd5], %r1;"),
            "- w? - -");
}

TEST(PointerUses, AGridIsWaitedForByTheKernelThatDoes) {
  const std::string ptx =
      ".visible .entry a()\n{\nret;\n}\n.visible .entry b(\n)\n{\nmov.u32 %r3, %envreg2;\n}\n";
  EXPECT_FALSE(waits_for_grid(ptx, "a"));
  EXPECT_TRUE(waits_for_grid(ptx, "b"));
}

TEST(PointerUses, OfNoSuchKernelThereAreNone) {
  EXPECT_TRUE(pointer_uses("", "p").empty());
  EXPECT_TRUE(pointer_uses(".entry p(", "p").empty());
  EXPECT_TRUE(pointer_uses(".visible .entry p2(.param .u64 a) { ret; }", "p").empty());
  for (const char* text : {".entry p({", ".entry p(.param .u64 a){[;", ".entry p(.param .u64 a[)]{@;{;}",
                           ".entry p(,,){ st [; } }"})
    EXPECT_LE(pointer_uses(text, "p").size(), 2U);
}

}  // namespace pointer_uses_test
}  // namespace tiletune
