#include <cublasLt.h>
#include <gtest/gtest.h>

#include "gpu/cublas.h"

namespace tiletune {
namespace cublaslt_names_test {

TEST(LtNames, AreThoseOfTheHeader) {
  EXPECT_EQ(lt_tile_name(CUBLASLT_MATMUL_TILE_8x8), "8x8");
  EXPECT_EQ(lt_tile_name(CUBLASLT_MATMUL_TILE_256x128), "256x128");
  EXPECT_EQ(lt_tile_name(CUBLASLT_MATMUL_TILE_128x160), "128x160");
  EXPECT_EQ(lt_stages_name(CUBLASLT_MATMUL_STAGES_8x3), "8x3");
  EXPECT_EQ(lt_stages_name(CUBLASLT_MATMUL_STAGES_128xAUTO), "128xAUTO");
  EXPECT_EQ(lt_cluster_name(CUBLASLT_CLUSTER_SHAPE_1x1x1), "1x1x1");
  EXPECT_EQ(lt_cluster_name(CUBLASLT_CLUSTER_SHAPE_2x4x1), "2x4x1");
}

// A newer library may use numbers that this header lacks.
TEST(LtNames, AreEmptyForNumbersThatTheHeaderLacks) {
  EXPECT_EQ(lt_tile_name(CUBLASLT_MATMUL_TILE_UNDEFINED), "");
  EXPECT_EQ(lt_tile_name(CUBLASLT_MATMUL_TILE_END), "");
  EXPECT_EQ(lt_stages_name(CUBLASLT_MATMUL_STAGES_END), "");
  EXPECT_EQ(lt_stages_name(29), "");
  EXPECT_EQ(lt_cluster_name(CUBLASLT_CLUSTER_SHAPE_AUTO), "");
  EXPECT_EQ(lt_cluster_name(1000), "");
}

}  // namespace cublaslt_names_test
}  // namespace tiletune
