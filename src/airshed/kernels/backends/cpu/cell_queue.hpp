// cell_queue.hpp: distribution of cells to the lanes of a thread. A lane takes the next cell when its cell is finished, so that it does
// not wait for other lanes. backends/cuda/cell_queue.hpp replaces this file.
INLINE int64_t lanes_in(const Cells& s, int64_t p) {
    return (p / s.levels) % s.blocks == s.blocks - 1 ? s.last_lanes : W;
}
INLINE int64_t place_of(const Cells& s, int64_t p) {
    return (p / s.levels) * s.block_stride + (p % s.levels) * s.level_stride;
}
template <class N> INLINE void copy_lane(N* to, int lane, const N* from, int64_t other, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i * W + lane] = from[i * W + other];
}
INLINE pack permuted(pack x, mask from) {
#if defined(__clang__)
    pack result;
    for (int lane = 0; lane < W; lane++) result[lane] = x[from[lane]];
    return result;
#else
    return __builtin_shuffle(x, from);
#endif
}

INLINE void begin(const Cells& s, Worker& t, int lane, int64_t cell) {
    t.cell[lane] = cell;
    t.time[lane] = s.start, t.h[lane] = s.step[cell];
    t.tried[lane] = t.rejected[lane] = t.after_rejection[lane] = 0;
    t.guesses = t.guesses || !(t.h[lane] > 0.0);
}

// Takes a whole pack if all lanes are idle: no permutation of lanes is needed.
static int take_pack(const Cells& s, Worker& t) {
    const int64_t p = t.source++;
    std::memcpy((void*)t.series, s.inputs + p * (s.degree + 1) * s.input_count * W,
                (s.degree + 1) * s.input_count * W * sizeof(double));
    if (s.degree == 0) {
        std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
        rate_constants(t.series, t.k);
    }
    const pack scale = real(1 / UNIT) * (s.mixing_ratios ? to_pack(t.series + AIR * W) : splat(1));
    const real* y = s.y + place_of(s, p);
    for (int species = 0; species < NS; species++) {   // in the order of memory
        const int i = place_of_species[species];
        t.y[i] = species < s.stored ? *(const pack*)(y + species * s.species_stride) * scale : pack{};
        t.clipped[i] = pack{};
    }
    const int lanes = lanes_in(s, p);
    for (int lane = 0; lane < lanes; lane++) begin(s, t, lane, p * W + lane);
    return lanes;
}

// For each lane the lane of another pack that moves there, and whether one does.
struct Moves { mask from, moved; };
INLINE pack moved_into(pack stays, const Moves& moves, pack comes) {
    return moves.moved ? permuted(comes, moves.from) : stays;
}

// Moves cells of one pack to idle lanes; returns their number.
static int take(const Cells& s, Worker& t) {
    const int64_t p = t.source, lanes = lanes_in(s, p);
    const double* series = s.inputs + p * (s.degree + 1) * s.input_count * W;
    Moves moves = {};
    int taken = 0;
    for (int lane = 0; lane < W && t.source_lane < lanes; lane++) {
        if (t.cell[lane] >= 0) continue;
        const int64_t from = t.source_lane++;
        moves.from[lane] = from, moves.moved[lane] = -1, taken++;
        copy_lane(t.series, lane, series, from, (s.degree + 1) * s.input_count);
        begin(s, t, lane, p * W + from);
    }
    if (s.degree == 0) {
        if (t.buffered != p) rate_constants(series, t.fresh), t.buffered = p;
        for (int r = 0; r < NR; r++) t.k[r] = moved_into(t.k[r], moves, t.fresh[r]);
        std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
    }
    const pack scale = real(1 / UNIT) * (s.mixing_ratios ? to_pack(t.series + AIR * W) : splat(1));
    const real* y = s.y + place_of(s, p);
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        const pack given = species < s.stored ? *(const pack*)(y + species * s.species_stride) : pack{};
        t.y[i] = moves.moved ? permuted(given, moves.from) * scale : t.y[i];
        t.clipped[i] = moves.moved ? pack{} : t.clipped[i];
    }
    return taken;
}

// Fills all idle lanes with cells; returns the number of active lanes.
static int refill(const Cells& s, int64_t last, Worker& t) {
    int active = 0;
    for (int lane = 0; lane < W; lane++) active += t.cell[lane] >= 0;
    while (active < W) {
        while (t.source < last && t.source_lane >= lanes_in(s, t.source)) t.source++, t.source_lane = 0;
        if (t.source >= last) break;
        if (active == 0 && t.source_lane == 0) return take_pack(s, t);
        active += take(s, t);
    }
    return active;
}

// Target of a species of a pack: the state, or `extra` for species that the state does not store.
INLINE real* result_of(const Cells& s, int64_t species, int64_t p) {
    if (species < s.stored) return s.result + place_of(s, p) + species * s.species_stride;
    return s.extra + (p * (NS - s.stored) + species - s.stored) * W;
}

INLINE void end(const Cells& s, Worker& t, int lane) {
    const int64_t cell = t.cell[lane];
    s.step[cell] = t.h[lane], s.reached[cell] = t.time[lane];
    s.accepted[cell] = int32_t(t.tried[lane] - t.rejected[lane]), s.rejected[cell] = int32_t(t.rejected[lane]);
    t.cell[lane] = -1, t.done[lane] = 0;
}

// Stores the results of finished lanes that hold cells of one pack, that of the first lane; returns their number.
static int put_back(const Cells& s, Worker& t) {
    int first = 0, count = 0;
    while (!t.done[first]) first++;
    const int64_t p = t.cell[first] / W;
    Moves moves = {};
    for (int lane = first; lane < W; lane++)
        if (t.done[lane] && t.cell[lane] / W == p) {
            const int64_t own = t.cell[lane] % W;
            moves.from[own] = lane, moves.moved[own] = -1, count++;
            end(s, t, lane);
        }
    const pack scale = real(UNIT) * (s.mixing_ratios ? real(1) / to_pack(t.series + AIR * W) : splat(1));
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        pack& result = *(pack*)result_of(s, species, p);
        result = moved_into(result, moves, t.y[i] * scale);
        if (s.clipped && species < s.stored) {
            pack& clipped = *(pack*)(s.clipped + place_of(s, p) + species * s.species_stride);
            clipped = moved_into(clipped, moves, t.clipped[i] * scale);
        }
    }
    return count;
}

// Stores all lanes together if they hold a whole pack in its order.
static void put_back_pack(const Cells& s, Worker& t) {
    const int64_t p = t.cell[0] / W;
    const pack scale = real(UNIT) * (s.mixing_ratios ? real(1) / to_pack(t.series + AIR * W) : splat(1));
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        *(pack*)result_of(s, species, p) = t.y[i] * scale;
        if (s.clipped && species < s.stored)
            *(pack*)(s.clipped + place_of(s, p) + species * s.species_stride) = t.clipped[i] * scale;
    }
    for (int lane = 0; lane < W; lane++) end(s, t, lane);
}

static void put_back_done(const Cells& s, Worker& t) {
    int left = 0, in_order = 0;
    for (int lane = 0; lane < W; lane++) left -= t.done[lane], in_order += t.cell[lane] == t.cell[0] + lane;
    if (left == W && in_order == W && t.cell[0] % W == 0) return put_back_pack(s, t);
    while (left > 0) left -= put_back(s, t);
}

static void integrate(const Cells& s, const Method& method, int64_t first, int64_t last, Worker& t) {
    t.source = first, t.source_lane = 0, t.buffered = -1, t.y = t.state[0], t.next = t.state[1], t.guesses = false;
    for (int i = 0; i < NS; i++) t.absolute[i] = real(larger(s.absolute[i] / UNIT, 1e-37));   // a positive float
    for (int lane = 0; lane < W; lane++) t.cell[lane] = -1;
    while (refill(s, last, t) > 0) {
        try_step(s, method, t);
        put_back_done(s, t);
    }
}

extern "C" {
int64_t airshed_worker_bytes(int64_t inputs, int64_t degree) {
    return sizeof(Worker) + 64 + (degree + 3) * inputs * W * (int64_t)sizeof(double);
}

// Work of one thread: ranges of packs that no other thread has taken. `memory`: airshed_worker_bytes(), aligned to 64.
void airshed_chemistry(const Cells* cells, const Method* method, const int64_t* pieces, int64_t count, int64_t* taken,
                       void* memory) {
    const FlushDenormals flush;
    Worker& t = *(Worker*)memory;
    t.input = (double*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    t.earlier = t.input + cells->input_count * W, t.series = t.earlier + cells->input_count * W;
    for (int64_t piece; (piece = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED)) < count;)
        integrate(*cells, *method, pieces[2 * piece], pieces[2 * piece + 1], t);
}

#if INSPECTED
// Rate constants, dy/dt and the Jacobian of one pack, for tests: the same functions as in a step.
void airshed_evaluate(const double* input, const real* y, double* k, real* f, real* a) {
    static thread_local Worker t;
    t.y = t.state[0];
    rate_constants(input, t.k);
    for (int species = 0; species < NS; species++)
        t.y[place_of_species[species]] = real(1 / UNIT) * *(const pack*)(y + species * W);
    tendency(t.k, t.y, t.f);
    jacobian(t.k, t.y, t.a);
    for (int reaction = 0; reaction < NR; reaction++)
        for (int lane = 0; lane < W; lane++) k[reaction * W + lane] = double(t.k[reaction][lane]) * unit_of_rate[reaction];
    for (int species = 0; species < NS; species++)
        *(pack*)(f + species * W) = real(UNIT) * t.f[place_of_species[species]];
    std::memcpy(a, t.a, NA * sizeof(pack));
}
#endif
}
