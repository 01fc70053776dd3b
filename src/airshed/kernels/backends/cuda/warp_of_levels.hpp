// warp_of_levels.hpp: the threads of a warp are the levels of one column. Warps of a block of threads have neighbouring columns of one
// block, so that together they load whole sectors of memory. Threads beyond the topmost level take part in shuffles only.
//
// Y_IN_TILE: mixing ratios are in shared memory during the sweeps, else in local memory; see TILE in backends/cuda/kernel.py.
constexpr int OWN_LEVELS = (NZ + 31) / 32;
#define OWN_LANE (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) % W
static inline int first_level() { return int(threadIdx.x % 32) * OWN_LEVELS; }
#define Y_IN_TILE (TILE == SPECIES)
#define RIGHT_HAND_SIDES Levels<value, NS * NZ>
#if Y_IN_TILE
#define VALUES real*
#else
#define VALUES LevelView<real>
#endif
