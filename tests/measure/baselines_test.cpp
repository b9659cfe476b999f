#include "measure/baselines.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace baselines_test {

TEST(TensorCoreMark, IsFoundInTheNamesOfKernelsThatRoundTheirInputs) {
  EXPECT_EQ(tensor_core_mark("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_"
                             "execute_split_k_kernel__5x_cublas"),
            "tf32");
  EXPECT_EQ(
      tensor_core_mark("_ZN7cutlass7Kernel2I57cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4EEvNT_"
                       "6ParamsE"),
      "tensorop");
  EXPECT_EQ(tensor_core_mark("ampere_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_nn"), "s1688");
  EXPECT_EQ(tensor_core_mark("ampere_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_nn"), "s16816");
  EXPECT_EQ(tensor_core_mark("volta_h884gemm_256x64_ldg8_nn"), "h884");
  EXPECT_EQ(tensor_core_mark("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize64x256x64_warpgroupsize1x1x1_"
                             "execute_split_k_kernel__5x_cublas"),
            "bf16");
}

TEST(TensorCoreMark, IsNotFoundInTheNamesOfFp32Kernels) {
  for (const char* const kernel :
       {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4_alignc4_"
        "execute_kernel__5x_cublas",
        "_ZN7cutlass7Kernel2I57cutlass_80_simt_sgemm_forwardCompat_128x256_8x4_nn_align1EEvNT_6ParamsE",
        "cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_ntn_align1_bias_f32_relu",
        "_Z18sgemm_largek_lds64ILb1ELb0ELi5ELi5ELi4ELi4ELi4ELi34EEvPfPKfS2_iiiiiiS2_S2_ffiiPiS3_",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifffffLb1ELb0ELb0EEEvNS_18cublasSplitKParamsIT5_EE", ""})
    EXPECT_EQ(tensor_core_mark(kernel), "") << kernel;
}

}  // namespace baselines_test
}  // namespace tiletune
