// Calls a tuned product of single precision at sizes that nobody tuned, twice: at once, and out of a graph.
#include <cuda_runtime.h>

#include <cstdio>
#include <tuned/tuned.h>
#include <vector>

int main() {
  const long long m = 1000, n = 77, k = 513;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  cudaMalloc(&a, m * k * sizeof(float));
  cudaMalloc(&b, k * n * sizeof(float));
  cudaMalloc(&c, m * n * sizeof(float));
  const std::vector<float> ones(m * k, 1.0F);
  cudaMemcpy(a, ones.data(), m * k * sizeof(float), cudaMemcpyDefault);
  cudaMemcpy(b, ones.data(), k * n * sizeof(float), cudaMemcpyDefault);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);

  tuned::WorkspaceMemory memory;
  memory.reserve(tuned::gemm_f32_needs(m, n, k));
  const tuned::Status status = tuned::gemm_f32(memory.on(stream), m, n, k, a, b, c);
  std::printf("%s: %s\n", status.kernel, status.text);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  tuned::gemm_f32(memory.on(stream), m, n, k, a, b, c);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&launchable, graph, 0);
  cudaGraphLaunch(launchable, stream);
  float corner = 0;
  cudaMemcpyAsync(&corner, c + m * n - 1, sizeof(float), cudaMemcpyDefault, stream);
  cudaStreamSynchronize(stream);
  std::printf("the last of %lld sums of %lld ones: %g\n", m * n, k, corner);
  return status && corner == static_cast<float>(k) ? 0 : 1;
}
