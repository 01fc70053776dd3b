// transport_kernel.hpp: the explicit part of a step on a device, a warp for each level of each block, and the sums of blocks. Both warps at
// a face compute its flux by the same code. So the bits depend neither on the size nor on the order of blocks of threads.
extern "C" __global__ void __launch_bounds__(WARPS * W, TRANSPORT_BLOCKS) airshed_transport(const Step* step) {
    const Step& s = *step;
    const int64_t number = own_warp() / NZ, row = number / s.blocks, block = number % s.blocks;
    if (row >= s.rows) return;
    Worker t;
    if constexpr (VERTICAL) {
        t.rhs = values_at(right_hand_sides(s, row, block), 0);
        t.result = {summands(s, row, block) + first_level(), true};
    } else t.result.wanted = false;
    load_fluxes(s, row, block, t.flux);
    advance_air(s, row, block, t.flux);
    if constexpr (COLUMN_MATRIX) t.mixes = column_matrices(s, row, block, t.matrix);
    if (at_edge(s, row, block)) transport<true>(s, row, block, t);
    else transport<false>(s, row, block, t);
}

// Adds up the summands of the sums of each block, 32 sums in a warp.
extern "C" __global__ void __launch_bounds__(WARPS * W) airshed_sums(const Step* step) {
    const Step& s = *step;
    constexpr int64_t WARPS_OF_BLOCK = (SUMS + W - 1) / W;
    const int64_t number = own_warp() / WARPS_OF_BLOCK, row = number / s.blocks, block = number % s.blocks;
    if (row >= s.rows) return;
    const double* from = summands(s, row, block);
    double* sums = s.sums + number * SUMS;
    for (int64_t i = own_warp() % WARPS_OF_BLOCK * W, end = i + W < SUMS ? i + W : SUMS; i < end; i++) {
        double lanes = 0;
        for (int part = own_lane(); part < SUMMANDS; part += W) lanes += from[i * SUMMANDS + part];
        const double total = sum_of_lanes(lanes);
        if (own_lane() == 0) sums[i] = total;
    }
}
