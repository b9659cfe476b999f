#pragma once

namespace tiletune {

/// The body of the hidden `gpu-worker` subcommand: holds one GPU, prepares problems and measures
/// configurations as the parent asks over the channel. Returns the exit code.
int run_gpu_worker(int device_index);

}  // namespace tiletune
