// reverse/sweeps.hpp: repeated sweeps of a block, and their adjoint.

// Whether a solution may be negative in some cell. M is an M-matrix and rates are not negative. So a solution is negative only
// where the newest value is zero, and where the right-hand side or the production is negative.
static bool may_be_clipped(const Reverser& r, const pack* y1, int i) {
    pack least = y1[i * NZ], given = PRODUCTION_TAKES[i] ? splat(-1) : pack{};
    for (int z = 1; z < NZ; z++) least = minimum(least, y1[i * NZ + z]);
    if (__builtin_expect(lanes_of(least == 0) == 0, 1)) return false;
    for (int z = 0; z < NZ; z++) given = minimum(given, r.t.rhs[i * NZ + z]);
    return any_below_zero(least == 0 ? given : pack{});
}

// Finds the species with negative solutions, and computes these solutions.
static void find_clipped(Reverser& r, const pack* y0, const pack* y1) {
    std::memset(r.clipped, 0, sizeof r.clipped);
    int solved = -1;
    for (int i = 0; i < NS; i++)
        if (__builtin_expect(GROUP_OF[i] != solved && may_be_clipped(r, y1, i), 0))
            sweep_again[solved = GROUP_OF[i]](r.t, y0, y1, r.solved, r.side, r.clipped);
}

// r.bar: adjoint of the newest values; on return of the start of the sweeps. The adjoint of the right-hand side is added to r.r.
void reverse_sweeps(const Reverse& a, int64_t row, int64_t block, Reverser& r) {
    const int64_t sweeps = a.now->sweeps;
    pack* const y = r.y;
    for (int64_t s = 1; s < sweeps; s++) {
        pack *y0 = y + (s - 1) * NS * NZ, *y1 = y + s * NS * NZ;
        for (int g = 0; g < GROUPS; g++) sweep_again[g](r.t, y0, y1, y1, r.side, r.clipped);
    }
    std::memset((void*)r.r, 0, sizeof r.r);
    const pack* y1 = (const pack*)(a.newest + (row * a.now->blocks + block) * BLOCK);
    const bool with_rates = a.reactions_asked || r.own_rates;
    if (with_rates) std::memset((void*)r.reactions, 0, sizeof r.reactions);
    for (int64_t s = sweeps; s >= 1; s--) {
        const pack* y0 = y + (s - 1) * NS * NZ;
        find_clipped(r, y0, y1);
        if (with_rates) reverse_sweep_with_rates(r, y0, y1);
        else reverse_sweep<false>(r, y0, y1);
        y1 = y0;
    }
    if (!a.reactions_asked) return;
    double* reactions = a.reactions + (row * a.now->blocks + block) * REACTIONS;
    for (int number = 0; number < REACTIONS; number++) reactions[number] += sum(r.reactions[number]);
}
