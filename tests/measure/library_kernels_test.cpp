#include <gtest/gtest.h>

#include <vector>

#include "carries.h"
#include "measure/baselines.h"

namespace tiletune {
namespace library_kernels_test {

struct Known {
  const char* kernel;
  std::optional<ElementType> type;
};

/// Names as profilers and the driver show them.
const std::vector<Known> kKnown{
    {"sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_"
     "kernel__"
     "5x_cublas",
     ElementType::f16},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
     ElementType::bf16},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_execute_split_k_kernel__"
     "5x_"
     "cublas",
     ElementType::tf32},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4_alignc4_"
     "execute_"
     "kernel__5x_cublas",
     ElementType::f32},
    {"sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4_kernel",
     ElementType::f64},
    {"sm90_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1_execute_kernel__5x_cublas",
     ElementType::i8},
    {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_cgasize1x2x1_execute_kernel__5x_cublas",
     ElementType::e4m3},
    {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN", ElementType::f16},
    {"nvjet_tst_192x192_64x3_1x2_h_bz_coopB_TNT", ElementType::bf16},
    {"nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", ElementType::e4m3},
    {"nvjet_sm100_tst_mma_256x192x64_3_16x256x32_4x1_2cta_h_bz_TNT", ElementType::bf16},
    {"cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", ElementType::tf32},
    {"_ZN7cutlass7Kernel2I57cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4EEvNT_6ParamsE",
     ElementType::tf32},
    {"cutlass_75_tensorop_s1688gemm_f16_64x64_32x2_nn_align8", ElementType::f16},
    {"_ZN7cutlass7Kernel2I66cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64_64x4_nn_align2EEvNT_6ParamsE",
     ElementType::f16},
    {"cutlass_80_tensorop_s16816gemm_bf16_64x64_64x5_tn_align8", ElementType::bf16},
    {"cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16", ElementType::i8},
    {"cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_2x1x1_0_tnn_align8",
     ElementType::f16},
    {"cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_ntn_align1_bias_f32_relu",
     ElementType::f32},
    {"_ZN7cutlass7Kernel2I57cutlass_80_simt_sgemm_forwardCompat_128x256_8x4_nn_align1EEvNT_6ParamsE",
     ElementType::f32},
    {"ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn", ElementType::f16},
    {"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_nn", ElementType::bf16},
    {"ampere_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_nn", ElementType::f16},
    {"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", ElementType::f16},
    {"volta_h884gemm_256x64_ldg8_nn", ElementType::f16},
    {"volta_sgemm_128x64_nn", ElementType::f32},
    {"ampere_sgemm_64x32_sliced1x4_nn", ElementType::f32},
    {"volta_dgemm_64x64_nn", ElementType::f64},
    {"_Z18sgemm_largek_lds64ILb1ELb0ELi5ELi5ELi4ELi4ELi4ELi34EEvPfPKfS2_iiiiiiS2_S2_ffiiPiS3_",
     ElementType::f32},
    {"_ZN8internal5gemvx6kernelIii6__halfS2_S2_fLb0ELb1ELb1ELb0ELi7ELb0E18cublasGemvParamsExEE",
     ElementType::f16},
    {"_ZN8internal5gemvx6kernelIii13__nv_bfloat16S2_S2_fLb0ELb1ELb1ELb0ELi7ELb0EEE", ElementType::bf16},
    {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifffffLb1ELb0ELb0EEEvNS_18cublasSplitKParamsIT5_EE",
     std::nullopt},
    {"", std::nullopt},
    {"some_kernel_of_the_future", std::nullopt}};

TEST(LibraryKernels, NamesTellWhatIsMultiplied) {
  for (const Known& known : kKnown) EXPECT_EQ(multiplied_type(known.kernel), known.type) << known.kernel;
}

std::string fault(ElementType type, ElementType compute, const std::vector<std::string>& kernels) {
  BlasGemm gemm;
  gemm.a = gemm.b = type;
  gemm.compute = compute;
  return type_fault(gemm, kernels);
}

TEST(LibraryKernels, AKernelOfAnotherTypeIsAFault) {
  EXPECT_TRUE(carries(fault(ElementType::f16, ElementType::f32, {"volta_sgemm_128x64_nn"}),
                      {"volta_sgemm_128x64_nn", "f32", "f16"}));
  EXPECT_TRUE(
      carries(fault(ElementType::bf16, ElementType::f32, {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN"}),
              {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN", "f16", "bf16"}));
  EXPECT_TRUE(carries(fault(ElementType::tf32, ElementType::f32, {"ampere_sgemm_64x32_sliced1x4_nn"}),
                      {"f32", "tf32"}));
}

TEST(LibraryKernels, OneKernelOfTheTypeIsEnoughAndUnknownNamesAreNone) {
  const std::string reduction =
      "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifffffLb1ELb0ELb0EEEvNS_18cublasSplitKParamsIT5_EE";
  EXPECT_EQ(fault(ElementType::f16, ElementType::f32, {"nvjet_hsh_64x64_64x4_2x1_v_bz_NNN", reduction}), "");
  EXPECT_EQ(fault(ElementType::f16, ElementType::f32, {reduction}), "");
  EXPECT_EQ(fault(ElementType::f16, ElementType::f32, {"some_kernel_of_the_future"}), "");
  EXPECT_EQ(
      fault(ElementType::f32, ElementType::tf32, {"cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4"}),
      "");
  EXPECT_EQ(fault(ElementType::e5m2, ElementType::f32, {"nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT"}), "");
  EXPECT_EQ(fault(ElementType::f16, ElementType::f32, {}), "");
}

}  // namespace library_kernels_test
}  // namespace tiletune
