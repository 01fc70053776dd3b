// warp_of_columns.hpp: the threads of a warp are the columns of a block, in one level.
constexpr int OWN_LEVELS = 1;
static inline unsigned own_warp() { return blockIdx.x * (blockDim.x / W) + threadIdx.x / W; }
static inline int first_level() { return int(own_warp() % NZ); }
#define RIGHT_HAND_SIDES Lanes<scalar>         // in the workspace of the step
#define VALUES Lanes<scalar>
