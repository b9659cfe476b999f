#pragma once

#include "common/peers.cuh"

// GPUs have a part of K each, and each is to have the sums of its slice of C: every GPU adds what the others
// have computed of its slice.

/// How the sums of a slice get to the GPU that adds them.
enum Transfer {
  push,         // the kernel sends each tile across NVLink, and sets the tile's word there
  copy_engine,  // two launches with copies between them, which set a chunk's word to 1 (Steps)
  whole_matrix  // they stay here, in a matrix whose slices NCCL or another launch adds
};

/// Of the slices, in the order in which GPU `rank` computes them, its own last: those from step `first` up to
/// `end`.
struct Steps {
  int rank, slices, first, end;

  __device__ __forceinline__ int slice(int step) const {
    return slice_of_step(rank, step + 1 < slices ? step + 1 : 0, slices);
  }
  __device__ __forceinline__ bool has_own() const { return end == slices; }
};

/// Among the GPUs other than `own`: the place of GPU `other`.
__device__ __forceinline__ int place_among_others(int other, int own) {
  return other < own ? other : other - 1;
}

/// Where what GPUs send each other lies on the GPU that receives it: by sender, tile and part of a tile.
struct Parts {
  int tiles;     ///< of a slice
  int per_tile;  ///< parts of a tile

  __device__ __forceinline__ int number(int sender, int tile, int part) const {
    return (sender * tiles + tile) * per_tile + part;
  }
};
