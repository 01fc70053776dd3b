// elimination.hpp: tri-diagonal systems of a column in a warp, with OWN_LEVELS levels in each thread. A thread first eliminates its own
// levels. Parallel cyclic reduction with shuffles then solves for the last levels of all threads, and the other levels follow.

struct Elimination {       // of one species: y_k = constant_k + under_k y_(below the levels of the thread) + slope_k y_(k+1)
    value slope[OWN_LEVELS] = {}, constant[OWN_LEVELS] = {}, under[OWN_LEVELS] = {}, loss[OWN_LEVELS] = {};
};

template <int S> INLINE void eliminate(const Worker& t, int s, int z, value P, value L, Elimination& e, value& slope, value& constant) {
    value above;
    const int r = z - first_level();
    const value inverse = reciprocal(diagonal_of<S>(t, s, z, L, slope, above)), below = t.below[z] * inverse;
    constant = fused(t.below[z], constant, fused(t.g, P, t.rhs[s * NZ + z])) * inverse;
    slope = above * inverse;
    e.under[r] = r > 0 ? below * e.under[r - 1] : below;
    e.slope[r] = slope, e.constant[r] = constant, e.loss[r] = L;
}

INLINE value from_below(value own, int distance) { return __shfl_up_sync(ALL, own, distance); }
INLINE value from_above(value own, int distance) { return __shfl_down_sync(ALL, own, distance); }

template <int N> struct Rows {              // y = constant + under y_(thread below) + over y_(thread above), for N species
    value constant[N], under[N], over[N];
};
template <int N> struct Solutions {
    value y[N];
};

// Solves the rows of all threads for all species of a group. Not inlined: the code of the sweeps must fit into the instruction caches.
template <int N> NOINLINE Solutions<N> cyclic_reduction(Rows<N> rows) {
    constexpr int THREADS = (NZ + OWN_LEVELS - 1) / OWN_LEVELS;
    UNROLLED for (int distance = 1; distance < THREADS; distance *= 2) {
        UNROLLED for (int m = 0; m < N; m++) {
            value &constant = rows.constant[m], &under = rows.under[m], &over = rows.over[m];
            const value lower = from_below(constant, distance), upper = from_above(constant, distance);
            const value inverse = reciprocal(1 - under * from_below(over, distance) - over * from_above(under, distance));
            constant = fused(under, lower, fused(over, upper, constant)) * inverse;
            if (2 * distance >= THREADS) continue;         // the last step needs no coefficients
            under *= from_below(under, distance) * inverse, over *= from_above(over, distance) * inverse;
        }
    }
    Solutions<N> result;
    UNROLLED for (int m = 0; m < N; m++) result.y[m] = rows.constant[m];
    return result;
}

// Eliminates the first level of the thread above, so that the last level of a thread depends only on last levels.
INLINE void skip_first_level(const Elimination& e, value& constant, value& under, value& over) {
    value first = 0, first_under = 0, first_over = 1;      // first level = first + first_under y_(below) + first_over y_(last)
    for (int r = OWN_LEVELS - 2; r >= 0; r--) {
        first = fused(e.slope[r], first, e.constant[r]), first_under = fused(e.slope[r], first_under, e.under[r]);
        first_over *= e.slope[r];
    }
    const value inverse = reciprocal(1 - over * from_above(first_under, 1));
    constant = fused(over, from_above(first, 1), constant) * inverse;
    over *= from_above(first_over, 1) * inverse, under *= inverse;
}

// Solves the systems of the species of a group; the solutions are in `constant`.
template <int N> INLINE void join_levels(Elimination (&e)[N]) {
    constexpr int LAST = OWN_LEVELS - 1;
    Rows<N> rows;
    UNROLLED for (int m = 0; m < N; m++) {
        rows.constant[m] = e[m].constant[LAST], rows.under[m] = e[m].under[LAST], rows.over[m] = e[m].slope[LAST];
        if constexpr (OWN_LEVELS > 1) skip_first_level(e[m], rows.constant[m], rows.under[m], rows.over[m]);
    }
    const Solutions<N> solutions = cyclic_reduction(rows);
    UNROLLED for (int m = 0; m < N; m++) {
        e[m].constant[LAST] = solutions.y[m];
        if constexpr (OWN_LEVELS > 1) {
            const value below = from_below(solutions.y[m], 1);
            for (int r = LAST - 1; r >= 0; r--) e[m].constant[r] += fused(e[m].under[r], below, e[m].slope[r] * e[m].constant[r + 1]);
        }
    }
}

template <int S> INLINE void substitute(Worker& t, int s, const Elimination& e, pack produced, Values y) {
    ColumnSums sums;
    UNROLLED for (int r = OWN_LEVELS - 1; r >= 0; r--)
        if (const int z = first_level() + r; z < NZ) limit<S>(t, s, z, e.constant[r], e.loss[r], y, sums);
    if (first_level() == 0) limit_at_ground<S>(t, s, sums);
    store_sums<S>(t, s, produced, sums);
}
