#include <cstdio>

#include "tuned.h"

int main() {
  tiletune_best::Query query;  // default: a gemm in f32
  // query.operation = "softmax";
  query.gpu = "NVIDIA H200";
  query.sizes[0] = query.sizes[1] = query.sizes[2] = 4096;
  const tiletune_best::Found found = tiletune_best::find(query);
  if (found.entry == nullptr) return 1;  // no recorded configuration is valid for these sizes
  std::printf("%s, %s\n", text(found.gpu), text(found.problem));
  std::printf("%s %s\n", found.entry->kernel_expression, found.entry->compile_options);
  if (found.grid != nullptr)  // known for the recorded sizes only
    std::printf("%u blocks of %u threads\n", found.grid[0], found.entry->block[0]);
}
