// workspace.hpp: parts of the workspace of a step. The size is in backends/cuda/kernel.py.
INLINE real* right_hand_sides(const Step& s, int64_t row, int64_t block) { return s.workspace + (row * s.blocks + block) * BLOCK; }
INLINE double* summands(const Step& s, int64_t row, int64_t block) {
    return (double*)(s.workspace + s.rows * s.blocks * BLOCK) + (row * s.blocks + block) * SUMS * SUMMANDS;
}
