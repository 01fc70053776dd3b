// cell_queue.hpp: distribution of cells to the threads of a device. A thread takes the next cell when its cell is finished, so that it
// does not wait for the other threads of its warp.
INLINE int64_t lanes_in(const Cells& s, int64_t p) {
    return (p / s.levels) % s.blocks == s.blocks - 1 ? s.last_lanes : W;
}
INLINE int64_t place_of(const Cells& s, int64_t cell) {
    const int64_t p = cell / W;
    return (p / s.levels) * s.block_stride + (p % s.levels) * s.level_stride + cell % W;
}
INLINE double density(const Cells& s, const Worker& t) { return s.mixing_ratios ? t.series[AIR * W] : 1.0; }

// Loads the next cell that no thread has taken; returns whether there was one.
static bool take(const CellCall& call, Worker& t) {
    const Cells& s = call.cells;
    int64_t cell;
    do {
        cell = int64_t(atomicAdd(call.taken, 1ull));
        if (cell >= call.packs * W) return false;
    } while (cell % W >= lanes_in(s, cell / W));
    t.series = s.inputs + cell / W * (s.degree + 1) * s.input_count * W + cell % W;
    if (s.degree == 0) {
        copy_inputs(t.input, t.series, s.input_count);
        rate_constants(t.input, t.k);
    }
    const pack scale = real(1 / UNIT) * real(density(s, t));
    const real* y = s.y + place_of(s, cell);
    in_batches(NS, [&](int64_t species) { return species < s.stored ? y[species * s.species_stride] * scale : pack{}; },
               [&](int64_t species, pack given) {
                   const int i = place_of_species[species];
                   t.y[i] = given, t.clipped[i] = pack{};
               });
    t.cell[0] = cell, t.time[0] = s.start, t.step[0] = 0.0, t.h[0] = s.step[cell], t.guesses = !(t.h[0] > 0.0);
    t.tried[0] = t.rejected[0] = t.after_rejection[0] = t.done[0] = 0;
    return true;
}

// Stores the results of a finished cell.
static void put_back(const Cells& s, Worker& t) {
    const int64_t cell = t.cell[0], place = place_of(s, cell);
    real* const extra = s.extra + cell / W * (NS - s.stored) * W + cell % W;   // species that the state does not store
    const pack scale = real(UNIT) * (s.mixing_ratios ? real(1) / real(density(s, t)) : real(1));
    in_batches(NS, [&](int64_t species) { return t.y[place_of_species[species]] * scale; },
               [&](int64_t species, pack y) {
                   if (species < s.stored) s.result[place + species * s.species_stride] = y;
                   else extra[(species - s.stored) * W] = y;
               });
    if (s.clipped)
        in_batches(s.stored, [&](int64_t species) { return t.clipped[place_of_species[species]] * scale; },
                   [&](int64_t species, pack added) { s.clipped[place + species * s.species_stride] = added; });
    s.step[cell] = t.h[0], s.reached[cell] = t.time[0];
    s.accepted[cell] = int32_t(t.tried[0] - t.rejected[0]), s.rejected[cell] = int32_t(t.rejected[0]);
    t.cell[0] = -1;
}

// Working memory of a thread: its lane of the working memory of its warp, whose size follows from `_bytes_of_warp` in cells.py.
static Worker make_worker(const CellCall& call, int64_t warp) {
    const Cells& s = call.cells;
    unsigned char* const begin = call.memory + warp * call.bytes_of_warp;
    double* inputs = (double*)begin + own_lane();
    Packs packs = {(real*)((double*)begin + 2 * s.input_count * W) + own_lane()};
    const auto part = [&packs](int64_t count) {
        const Packs own = packs;
        packs = packs + count;
        return own;
    };
    Worker t;
    t.input = inputs, t.earlier = inputs + s.input_count * W;
    t.k = part(NR), t.fresh = part(s.degree > 0 ? NR : 0), t.a = part(NA);
    t.y = part(NS), t.next = part(NS), t.f = part(NS), t.shift = part(NS), t.dfdt = part(NS), t.clipped = part(NS);
    t.stage.first = part(call.method.stages * NS);
    t.absolute.external = s.absolute;
    if ((unsigned char*)(packs.first - own_lane()) > begin + call.bytes_of_warp) __trap();
    return t;
}

extern "C" __global__ void __launch_bounds__(WARPS * W) airshed_chemistry(const __grid_constant__ CellCall call) {
    const Cells& s = call.cells;
    const int64_t warp = int64_t(blockIdx.x) * (blockDim.x / W) + threadIdx.x / W;
    if (warp >= call.warps) return;
    Worker t = make_worker(call, warp);
    t.cell[0] = -1;
    while (t.cell[0] >= 0 || take(call, t)) {
        try_step(s, call.method, t);
        if (t.done[0]) put_back(s, t);
    }
}
