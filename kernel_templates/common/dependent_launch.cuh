#pragma once

// Programmatic dependent launches (sm_90 and newer): a kernel begins while the one before it is still running,
// sets itself up, and waits where it needs what that one has written. PTX ISA: "griddepcontrol".

/// The kernel behind this one may begin as soon as all blocks have come here, and there is room for it.
__device__ __forceinline__ void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
/// This thread waits until the kernel before this one has ended, and sees all that it has written. It goes on at
/// once where that kernel ended before this one began.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
