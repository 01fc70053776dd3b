// column_kernel.hpp: the implicit part of a step on a device, a warp for each column.

// Copies species of the columns of this block of threads between device memory, columns fastest, and shared memory [column][species]
// [level]; each thread has one column.
INLINE void load_tile(const real* device, real* tile, int count) {
    const int columns = blockDim.x / 32, column = threadIdx.x % columns;
    __syncthreads();
    for (int n = threadIdx.x / columns; n < count * NZ; n += 32) tile[column * SPAN + n] = device[n * W + column];
    __syncthreads();
}
INLINE void store_tile(real* device, const real* tile, int count) {
    const int columns = blockDim.x / 32, column = threadIdx.x % columns;
    __syncthreads();
    for (int n = threadIdx.x / columns; n < count * NZ; n += 32) device[n * W + column] = tile[column * SPAN + n];
    __syncthreads();
}

// Loads all species of the columns, one tile after another, and calls each(index in memory of the thread, number in the tile).
template <class Each> INLINE void from_device(const real* device, real* tile, const Each& each) {
    real* const own = tile + threadIdx.x / 32 * SPAN;
    for (int first = 0; first < NS; first += TILE) {
        const int count = first + TILE < NS ? TILE : NS - first;
        load_tile(device + first * COLUMN, tile, count);
        for (int i = 0; i < count; i++) EACH_LEVEL(z) each((first + i) * NZ + z, own[i * NZ + z]);
    }
}
template <class Each> INLINE void to_device(real* device, real* tile, const Each& each) {
    real* const own = tile + threadIdx.x / 32 * SPAN;
    for (int first = 0; first < NS; first += TILE) {
        const int count = first + TILE < NS ? TILE : NS - first;
        for (int i = 0; i < count; i++) EACH_LEVEL(z) own[i * NZ + z] = each((first + i) * NZ + z);
        store_tile(device + first * COLUMN, tile, count);
    }
}

static void load_air(const Step& s, int64_t row, int64_t block, BlockFlux& f) {
    const pack mask = lane_mask(block == s.blocks - 1 ? s.last_lanes : W);
    EACH_LEVEL(z) {
        f.air[z] = pack_at(s.air_other, (row * s.blocks + block) * COLUMN + z * W);
        f.weight[z] = f.air[z] * mask;
    }
}

static void solve_column(const Step& s, int64_t row, int64_t block, Worker& t, Values y) {
    load_air(s, row, block, t.flux);
    prepare_column(s, row, block, t);
    for (int64_t sweep = 0; sweep < s.sweeps; sweep++) {
        t.result.wanted = sweep == s.sweeps - 1;
        sweep_species(t, y);
    }
    for (pack& each : t.imbalance) each = pack{};
    add_imbalance(t, y);
    for (int family = 0; family < FAMILIES; family++) t.result[TERMS][family] = t.imbalance[family];
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, COLUMN_BLOCKS) airshed_columns(const Step* step) {
    const Step& s = *step;
    SHARED_MEMORY(real, tile);
    const int64_t columns = blockDim.x / 32, first = blockIdx.x * columns % W, number = blockIdx.x * columns / W;
    const int64_t row = number / s.blocks, block = number % s.blocks;
    if (row >= s.rows || (block == s.blocks - 1 && first >= s.last_lanes)) return;     // only padding
    Worker t;
    t.result = {summands(s, row, block) + own_lane(), true};
    real* const q = s.q_other + number * BLOCK + first;
    from_device(right_hand_sides(s, row, block) + first, tile, [&](int i, real number) { t.rhs[i] = number; });
#if Y_IN_TILE
    load_tile(q, tile, NS);
    solve_column(s, row, block, t, tile + threadIdx.x / 32 * SPAN);
    store_tile(q, tile, NS);
#else
    Levels<real, NS * NZ> y;
    from_device(q, tile, [&](int i, real number) { y[i] = number; });
    solve_column(s, row, block, t, y);
    to_device(q, tile, [&](int i) { return y[i]; });
#endif
}
