// reverse/step.hpp: one step in reverse, block by block, in one pass through memory:
//
//     1. the transport of step n+1, transposed, completes the adjoint X of q(n+1)
//     2. the tendency T(n-1), recomputed for this step and the one before
//     3. the columns of step n in reverse: (r, v) from X, adjoints of the right-hand side and of the start of the sweeps
//     4. the two-step formula: adjoints of the inputs of step n
//            B(n) = U + t0/a' r      U = t1/a' r      X = Z + c0 A/a' r + s0 v      Z = c1 A(n-1)/a' r + s1 v
//
// X adjoint of q(n+1), Z of q(n) as the older level, U of T(n) by step n+1; B(n) of T(n), read by neighbours in the next pass.

// The weights of the two-step formula that depend on the air, from the air of level n+1.
static void weigh(const Step& s, const real* newest, int64_t row, int64_t block, BlockFlux& f) {
    const int64_t here = (row * s.blocks + block) * COLUMN;
    const pack mask = lane_mask(block == s.blocks - 1 ? s.last_lanes : W);
    for (int z = 0; z < NZ; z++) {
        const pack next = at(newest, here + z * W), inverse = real(1) / next;
        f.c0[z] = real(s.c0) * at(s.air, here + z * W) * inverse;
        f.c1[z] = real(s.c1) * at(s.air_other, here + z * W) * inverse;
        f.t0[z] = real(s.t0) * inverse;
        f.t1[z] = real(s.t1) * inverse;
        f.air[z] = next;
        f.weight[z] = next * mask;
    }
}

// Right-hand side, and start of the sweeps; `cut`: whether a species is clipped at the start in some cell.
static void begin(const Reverse& a, int64_t offset, Worker& t, pack* start, bool* cut) {
    const Step& s = *a.now;
    const BlockFlux& f = t.flux;
    const pack s0 = splat(real(s.s0)), s1 = splat(real(s.s1));
    const pack* tendency_before = a.has_before ? t.rhs : (const pack*)(s.tendency + offset);
    for (int i = 0; i < NS; i++) {
        pack least = pack{};
        for (int z = 0; z < NZ; z++) {
            const int64_t k = offset + i * COLUMN + z * W;
            const pack q = at(s.q, k), older = at(s.q_other, k), from = fused(s1, older, s0 * q);
            __builtin_prefetch(s.q + k + COLUMN, 0), __builtin_prefetch(a.newest + k, 0);
            t.rhs[i * NZ + z] = fused(f.t1[z], tendency_before[i * NZ + z], fused(f.t0[z], at(a.tendency, k), fused(f.c1[z], older, f.c0[z] * q)));
            start[i * NZ + z] = maximum(from, pack{});
            least = minimum(least, from);
        }
        cut[i] = any_below_zero(least);
    }
}

// The adjoint of a start value that was clipped at zero does not propagate to older levels.
static void reverse_cut(const Step& s, int64_t offset, int i, pack* bar) {
    for (int z = 0; z < NZ; z++) {
        const int64_t k = offset + i * COLUMN + z * W;
        const pack from = fused(splat(real(s.s1)), at(s.q_other, k), splat(real(s.s0)) * at(s.q, k));
        bar[i * NZ + z] = from < 0 ? pack{} : bar[i * NZ + z];
    }
}

static void add_to_sources(const Reverse& a, int64_t number, const Reverser& r, real* sources, real share) {
    pack* here = (pack*)(sources + number * NS * a.source_levels * W);
    pack per_mole[NZ];
    for (int64_t z = 0; z < a.source_levels; z++) per_mole[z] = share * r.t.g / r.t.flux.air[z];
    for (int i = 0; i < NS; i++)
        for (int64_t z = 0; z < a.source_levels; z++) *here++ += per_mole[z] * r.r[i * NZ + z];
}

// Without implicit terms: r.bar is the adjoint of the newest values, which equal the right-hand side unless that is negative.
static void reverse_limit(Reverser& r) {
    for (int i = 0; i < NS * NZ; i++) r.r[i] = r.t.rhs[i] < 0 ? pack{} : r.bar[i], r.bar[i] = pack{};
}

static void reverse_implicit(const Reverse& a, int64_t row, int64_t block, Reverser& r) {
    const int64_t number = row * a.now->blocks + block;
    prepare_column(*a.now, row, block, r.t);
    r.t.below[NZ] = pack{};                    // no exchange from above the topmost level
    r.own_rates = a.own_rates;
    if (r.own_rates) {
        empty_adjoints(r);
        for (int z = 0; z < NZ; z++) r.per_air[z] = r.t.g / r.t.flux.air[z];
    }
    reverse_sweeps(a, row, block, r);
    for (int period = 0; period < 2; period++)
        if (a.shares[period] != 0) add_to_sources(a, number, r, a.sources[period], real(a.shares[period]));
    if (r.own_rates) adjoints_of_operators(a, row, block, r);
}

static void reverse_columns(const Reverse& a, int64_t row, int64_t block, Reverser& r) {
    const Step& s = *a.now;
    Worker& t = r.t;
    const BlockFlux& f = t.flux;
    const int64_t offset = (row * s.blocks + block) * BLOCK;
    const pack mask = lane_mask(block == s.blocks - 1 ? s.last_lanes : W);
    weigh(s, a.air, row, block, t.flux);
    begin(a, offset, t, r.y, r.cut);
    if constexpr (VERTICAL) reverse_implicit(a, row, block, r);
    else reverse_limit(r);
    const pack s0 = splat(real(s.s0)), s1 = splat(real(s.s1));
    for (int i = 0; i < NS; i++) {
        if (__builtin_expect(r.cut[i], 0)) reverse_cut(s, offset, i, r.bar);
        for (int z = 0; z < NZ; z++) {
            const int64_t k = offset + i * COLUMN + z * W;
            __builtin_prefetch(a.z + k + 2 * COLUMN, 1), __builtin_prefetch(a.u + k + 2 * COLUMN, 1);
            const pack rhs = r.r[i * NZ + z], v = r.bar[i * NZ + z];
            pack &older = *(pack*)(a.z + k), &u = *(pack*)(a.u + k);
            stream(a.b + k, fused(f.t0[z], rhs, u) * mask);
            u = f.t1[z] * rhs;
            *(pack*)(a.x + k) = fused(s0, v, fused(f.c0[z], rhs, older));
            older = fused(s1, v, f.c1[z] * rhs);
        }
    }
}

// T(n-1): streamed to memory for the step before, stored as right-hand side for this one; and the branches of its limiters.
template <bool EDGE> static void tendency_of(const Reverse& a, int64_t row, int64_t block, Worker& t) {
    const Step& s = *a.before;
    const Around around_it = around(s, row, block);
    const pack mask = lane_mask(around_it.east_edge ? s.last_lanes : W);
    const int64_t number = row * s.blocks + block, offset = number * BLOCK;
    for (int i = 0; i < NS; i++) {
        Passed edge;
        SeenFaces seen;
        transport_species<EDGE>(s, row, block, t, around_it, mask, i, edge, seen, [&](int z, int64_t k, pack change) __attribute__((always_inline)) {
            if constexpr (HORIZONTAL) __builtin_prefetch(around_it.north2 + k + COLUMN, 0);
            __builtin_prefetch(a.tendency + offset + k, 0), __builtin_prefetch(a.now->q + offset + k, 0);
            t.rhs[i * NZ + z] = change;
            stream(a.tendency_before + offset + k, change);
            seen.store(a.branches_before + number * BRANCHES + (i * NZ + z) * FACES);
        });
    }
}

static void reverse_block(const Reverse& a, int64_t row, int64_t block, Reverser& r) {
    const int64_t number = row * a.now->blocks + block;
    real* const x = a.x + number * BLOCK;
    if (a.has_next) {
        const Transposed given{*a.next, *a.adjoint, a.beyond, a.branches};
        const bool edge = row == a.next->rows - 1 || block == a.next->blocks - 1;
        load_fluxes(*a.next, row, block, r.t.flux);
        if constexpr (COLUMN_MATRIX) r.t.mixes = column_matrices(*a.next, row, block, r.t.matrix);
        double* above = a.top + number * NS;
        pack* carry_y = r.carry_y + block * 3 * NS * NZ;
        // In a kernel that stores no branches all three are one function.
        if (!KEEPS_BRANCHES || !keeps_branches(given, row, block)) transpose<false, true>(given, row, block, r.t, r.carry_x, carry_y, x, r.bar, a.boundary, above);
        else if (edge) transpose<KEEPS_BRANCHES, true>(given, row, block, r.t, r.carry_x, carry_y, x, r.bar, a.boundary, above);
        else transpose<KEEPS_BRANCHES, !KEEPS_BRANCHES>(given, row, block, r.t, r.carry_x, carry_y, x, r.bar, a.boundary, above);
        if (a.own_rates) adjoints_of_transport(a, row, block, r);
    } else std::memcpy((void*)r.bar, x, sizeof r.bar);
    if (a.has_before) {
        load_fluxes(*a.before, row, block, r.t.flux);
        if constexpr (COLUMN_MATRIX) r.t.mixes = column_matrices(*a.before, row, block, r.t.matrix);
        if (at_edge(*a.before, row, block)) tendency_of<true>(a, row, block, r.t);
        else tendency_of<false>(a, row, block, r.t);
    }
    if (a.has_columns) reverse_columns(a, row, block, r);
    else std::memcpy(x, (void*)r.bar, sizeof r.bar);
}

// Contributions of the faces south of a row to it and to the next rows.
static void start_rows(const Reverse& a, int64_t row, Reverser& r) {
    const int64_t blocks = a.now->blocks;
    const Transposed given{*a.next, *a.adjoint, a.beyond, a.branches};
    const auto start = keeps_branches(given, row - 3, 0) ? start_row_transposed<KEEPS_BRANCHES> : start_row_transposed<false>;
    for (int64_t b = 0; b < blocks; b++) {
        if (a.has_next) start(given, row, b, r.carry_y + b * 3 * NS * NZ, a.boundary.south + (1 + a.next->boundary_south.two_cells) * b * BLOCK);
        if (a.has_before) start_row(*a.before, row, b, r.t.carry_y + b * NS * NZ);
    }
}

static void reverse_row(const Reverse& a, int64_t row, Reverser& r) {
    const int64_t blocks = a.now->blocks;
    const Transposed given{*a.next, *a.adjoint, a.beyond, a.branches};
    const auto start = keeps_branches(given, row, -1) ? start_block_transposed<KEEPS_BRANCHES> : start_block_transposed<false>;
    if (HORIZONTAL && a.has_next) start(given, row, 0, r.carry_x, a.boundary.west + (1 + a.next->boundary_west.two_cells) * row * NS * NZ);
    if (HORIZONTAL && a.has_before && !a.before->west.edge) start_block(*a.before, row, 0, r.t.carry_x);
    for (int64_t b = 0; b < blocks; b++) reverse_block(a, row, b, r);
}

extern "C" {
int64_t airshed_reverser_bytes(int64_t blocks, int64_t sweeps) {
    return sizeof(Reverser) + 64 + (4 * blocks + sweeps) * NS * NZ * (int64_t)sizeof(pack);
}

// A step in reverse by threads that share its rows, see rows.hpp: the same bits for any assignment.
// words   initial rows of each thread;  memory  of this thread: airshed_reverser_bytes() bytes aligned to 64
void airshed_reverse(const Reverse* reverse, int64_t* words, int64_t threads, int64_t me, void* memory) {
    const FlushDenormals flush;
    const Reverse& a = *reverse;
    Reverser& r = *(Reverser*)memory;
    r.y = (pack*)(((uintptr_t)(&r + 1) + 63) & ~(uintptr_t)63);
    r.carry_y = r.y + a.now->sweeps * NS * NZ;
    r.t.carry_y = r.carry_y + 3 * a.now->blocks * NS * NZ;
    for (int64_t last = -2, row; (row = next_row(words, threads, me)) >= 0; last = row) {
        if (HORIZONTAL && row != last + 1) start_rows(a, row, r);
        reverse_row(a, row, r);
    }
    end_streams();
}
}
