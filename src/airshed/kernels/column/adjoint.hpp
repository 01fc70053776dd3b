// reverse/column.hpp: the sweeps of one block in reverse, species by species: transposed tri-diagonal solves with the
// elimination of the forward code, and the adjoints of the inputs of production and loss.
//
// One species in one sweep: M x = rhs + g P with M of the forward code, then y = max(x, 0). Given the adjoint `bar` of y:
//
//     bar_k = 0 where x_k < 0,     M^T mu = bar,     r += mu,
//     of P: g mu,     of L and loss operators: -g mu x,     of the exchange with neighbours: mu_k (x_(k+1) - x_k) and so on
//
// P and L used the newest values y1 of species solved before, and values of the previous sweep, y0, of itself and of later species.
// The last y1 is the state itself, so the last sweep need not be repeated; x equals y1 where that is not zero.

struct Reverser {          // working memory of one thread, from block to block
    Worker t;
    pack bar[NS * NZ];     // adjoint of mixing ratios: of the newest, then of older ones, finally of the start of the sweeps
    pack r[NS * NZ];       // adjoint of the right-hand side
    pack side[NS * NZ];    // solutions before clipping, for species that are clipped in some cell
    pack solved[NS * NZ];  // result of a repeated sweep for these species
    bool clipped[NS];
    bool cut[NS];                       // see `begin`
    pack reactions[REACTIONS + 1];      // sensitivity to factors on reaction rates, in this block
    pack carry_x[NS * NZ];              // see faces.hpp
    pack* carry_y;                      // [block][species][level][3]
    pack* y;                            // [sweep][species][level]: values after each sweep but the last
    bool own_rates;                     // whether adjoints of the rates of operators are requested; then
    pack per_air[NZ];                   // g / air content
    pack of_exchange[NZ];               // adjoints of the rates of operators that sweeps use
    OPERATOR_ADJOINTS
};

// Adjoints of loss rates of operators, generated.
template <int S> INLINE void add_to_taken(Reverser& r, int z, pack l);
template <int S> INLINE void add_to_settling(Reverser& r, int z, pack given);

struct Solve {             // forward elimination of one species
    pack slope[NZ], constant[NZ];
};

// ---- repeated sweeps -----------------------------------------------------------------------------------------------------------
template <int S> INLINE void eliminate_again(const Worker& t, int z, pack P, pack L, Solve& e, pack& slope, pack& constant) {
    pack above;
    const pack inverse = reciprocal(diagonal_of<S>(t, S, z, L, slope, above));
    constant = fused(t.below[z], constant, fused(t.g, P, t.rhs[S * NZ + z])) * inverse;
    slope = above * inverse;
    e.slope[z] = slope, e.constant[z] = constant;
}

INLINE bool any_below_zero(pack x) { return lanes_of(x < 0) != 0; }

template <int S> INLINE void substitute_again(Solve& e, pack* y, pack* side, bool* clipped) {
    pack value = pack{}, least = pack{};
    for (int z = NZ - 1; z >= 0; z--) {
        e.constant[z] = value = fused(e.slope[z], value, e.constant[z]);
        least = minimum(least, value);
        y[S * NZ + z] = maximum(value, pack{});
    }
    clipped[S] = any_below_zero(least);
    if (__builtin_expect(clipped[S], 0)) std::memcpy((void*)(side + S * NZ), e.constant, sizeof e.constant);
}

// ---- the transposed solve ------------------------------------------------------------------------------------------------------
struct Transpose {
    pack bar[NZ], inverse[NZ], sum{}, slope{};
};

INLINE pack take(pack& place) {
    const pack value = place;
    place = pack{};
    return value;
}

template <int S> INLINE void up(const Worker& t, int z, pack bar, pack L, Transpose& e) {
    pack above;
    const pack inverse = reciprocal(diagonal_of<S>(t, S, z, L, e.slope, above));
    e.inverse[z] = inverse;
    e.bar[z] = e.sum = fused(e.slope, e.sum, bar);
    e.slope = above * inverse;
}

// Returns the adjoint of P; `l`: of L. `x`: the solution; of mu nothing is above the column.
template <int S> INLINE pack down(Reverser& r, int z, const Transpose& e, const pack* x, pack& mu, pack& l) {
    const Worker& t = r.t;
    mu = e.inverse[z] * fused(t.below[z + 1], mu, e.bar[z]);
    const pack p = t.g * mu;
    l = -(p * x[z]);
    r.r[S * NZ + z] += mu;
    return p;
}

// ---- steps per sweep, not per level ---------------------------------------------------------------------------------------------
// The adjoint of a newest value that was clipped at zero does not propagate to the solution.
NOINLINE void cut_at_zero(pack* bar, const pack* solution) {
    for (int z = 0; z < NZ; z++) bar[z] = solution[z] < 0 ? pack{} : bar[z];
}

template <int S> INLINE const pack* solution_of(const Reverser& r, const pack* y1) { return (r.clipped[S] ? r.side : y1) + S * NZ; }

// Adds the sensitivities to the rates of operators.
template <int S> NOINLINE void add_to_own_rates(Reverser& r, const pack* mu, const pack* x) {
    const Worker& t = r.t;
    for (int z = 0; z < NZ; z++) {
        const pack p = t.g * mu[z];
        add_to_taken<S>(r, z, -(p * x[z]));
        if (z == NZ - 1) continue;
        if constexpr (SETTLES<S>) add_to_settling<S>(r, z + 1, p * t.upper_share[z] * x[z + 1]);
        r.of_exchange[z] += (x[z] - x[z + 1]) * (r.per_air[z + 1] * mu[z + 1] - r.per_air[z] * mu[z]);
    }
}
