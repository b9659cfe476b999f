// What the harness' own kernels share. Grid-stride loops throughout, so that any launch shape is right.

// Marks functions that the host compiles too.
#define HOST_DEVICE __device__

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

__device__ inline u64 first_index() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline u64 index_stride() { return u64(gridDim.x) * blockDim.x; }

// The place of element n of rows of `columns` elements whose starts lie `pitch` apart.
__device__ inline u64 element_of(u64 n, u64 columns, u64 pitch) {
  return columns == pitch ? n : n / columns * pitch + n % columns;
}

// Copies of one buffer, gridDim.y of them, whose starts lie `copy_pitch` bytes apart.
template <typename T>
__device__ inline T* of_copy(T* first, u64 copy_pitch) {
  return reinterpret_cast<T*>(reinterpret_cast<u64>(first) + blockIdx.y * copy_pitch);
}

// Which of several sets, whose starts lie `pitch` bytes apart, copies of a buffer hold, by their places. The first copy has
// place `first` of `places`, which are counted round.
struct SetChoice {
  const u32* set_of;
  u64 pitch;
  u64 first;
  u64 places;
};

// What this copy holds, given the first set.
template <typename T>
__device__ inline const T* chosen(const T* first_set, const SetChoice& choice) {
  const u64 set = choice.set_of[(choice.first + blockIdx.y) % choice.places];
  return reinterpret_cast<const T*>(reinterpret_cast<u64>(first_set) + set * choice.pitch);
}

template <typename T>
__device__ inline T warp_sum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}
