#pragma once

namespace tiletune {

/// The body of the hidden `gpu-worker` subcommand: holds one GPU, prepares problems and measures
/// configurations as the parent asks over the channel. With `must_be_confined` it ends where the system
/// cannot confine it. Returns the exit code.
int run_gpu_worker(int device_index, bool must_be_confined);

}  // namespace tiletune
