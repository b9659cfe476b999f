#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Element types by the names that manifests have for them.
using f32 = float;
using f16 = __half;
using bf16 = __nv_bfloat16;
using i32 = int;
using i64 = long long;
