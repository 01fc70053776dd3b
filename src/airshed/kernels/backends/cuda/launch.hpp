// launch.hpp: a step on a device: a warp for each block of each row. A face between two blocks is computed by both of their warps, by
// the same code, so the bits depend neither on the number of warps in a block of threads nor on their order.
extern "C" __global__ void __launch_bounds__(WARPS * W) airshed_step(const Step* step) {
    const Step& s = *step;
    const int64_t number = int64_t(blockIdx.x) * (blockDim.x / W) + threadIdx.x / W;
    if (number >= s.rows * s.blocks) return;
    const int64_t row = number / s.blocks, block = number % s.blocks;
    Worker t;
    for (auto& term : t.result)                            // operators set only the sums of their species
        for (pack& each : term) each = pack{};
    value carry_y[HORIZONTAL ? NS * NZ : 1];
    t.carry_y = carry_y - block * NS * NZ;                 // addressed by block, see transport.hpp
    if constexpr (HORIZONTAL) {
        start_row(s, row, block, carry_y);
        if (block > 0 || !s.west.edge) start_block(s, row, block, t.carry_x);
    }
    step_block(s, row, block, t);
}
