// column.hpp: the implicit part of the step, species by species: chemistry, emission, and operators.
//
// One species over the levels k of a column, with the newest mixing ratios of all other species in P and L:
//     -below_k y_(k-1) + (1 + below_k + above_k + g (L_k + D_k + F_k)) y_k - (above_k + g F_(k+1) A_(k+1)/A_k) y_(k+1) = rhs_k + g P_k
// (tri-diagonal block Gauss-Seidel; Verwer, Blom & Hundsdorfer 1996), with loss operators: D in the cell, F through its lower
// face. The operators of a species are known at compile time; absent ones generate no code. s is the species, S is s or a species
// with the same operators.

struct Elimination {       // forward elimination of one species: y_k = constant_k + slope_k y_(k+1)
    value slope[NZ], constant[NZ], loss[NZ];
};

template <int S> INLINE void eliminate(const Worker& t, int s, int z, value P, value L, Elimination& e, value& slope, value& constant) {
    value diagonal = fused(t.g, L, fused(t.below[z], real(1) - slope, real(1) + t.above[z])), above = t.above[z];
    if constexpr (LOST<S>) diagonal = fused(t.g, lost<S>(t, s, z), diagonal);
    if constexpr (LOST_AT_GROUND<S>)
        if (z == 0) diagonal = fused(t.g, lost_at_ground<S>(t, s), diagonal);
    if constexpr (SETTLES<S>) {
        diagonal = fused(t.g, settles<S>(t, s, z), diagonal);
        if (z < NZ - 1) above = fused(t.g * t.upper_share[z], settles<S>(t, s, z + 1), above);
    }
    const value inverse = reciprocal(diagonal);
    constant = fused(t.below[z], constant, fused(t.g, P, t.rhs[s * NZ + z])) * inverse;
    slope = above * inverse;
    e.slope[z] = slope, e.constant[z] = constant, e.loss[z] = L;
}

// Back substitution, and the sums of chemistry, operators and clipping at zero [mol/s, clipping: mol].
// They all use the clipped values, as other species do. Clipping is the source that balances the equation with these values, so
// that atoms exchanged between species add up to zero when the sweeps have converged.
template <int S> INLINE void substitute(Worker& t, int s, const Elimination& e, pack produced, Values y) {
    value solved = value{};
    pack bounded = pack{}, missing = pack{}, reacted = pack{}, clipped = pack{}, taken[OWN_TERMS + 1] = {};
    for (int z = NZ - 1; z >= 0; z--) {
        solved = fused(e.slope[z], solved, e.constant[z]);
        const value limited = not_below_zero(solved);
        y[s * NZ + z] = limited;
        bounded = plain(limited), missing = bounded - plain(solved);
        pack rate = plain(e.loss[z]);
        reacted = fused(t.flux.weight[z], rate * bounded, reacted);
        if constexpr (LOST<S>) {
            rate += plain(lost<S>(t, s, z));
            take<S>(t, s, z, bounded, taken);
        }
        clipped = fused(t.flux.weight[z], missing * fused(t.g, rate, splat(1)), clipped);
    }
    if constexpr (LOST_AT_GROUND<S>) clipped = fused(t.g * t.flux.weight[0] * plain(lost_at_ground<S>(t, s)), missing, clipped);
    if constexpr (SETTLES<S>) clipped = fused(t.g * t.flux.weight[0] * plain(settles<S>(t, s, 0)), missing, clipped);
    take_at_ground<S>(t, s, bounded, taken);
    t.result[CHEMISTRY][s] = produced - reacted;
    t.result[CLIPPED][s] = clipped;
}

// Data shared by the species of a column: rate functions, exchange, sources, and rates of operators.
static void prepare_column(const Step& s, int64_t row, int64_t block, Worker& t) {
    const int64_t cell = (row * s.blocks + block) * COLUMN, column = row * s.blocks + block;
    const pack w = splat(real(s.column_weight));
    const BlockFlux& f = t.flux;
    t.g = splat(real(s.g));
    const dpack secant = to_double(pack_at(s.photolysis_sun, column * 2 * W)), light = to_double(pack_at(s.photolysis_sun, column * 2 * W + W));
    const double* density_factor = s.density_factor + row * s.density_row + block * s.density_block;
    value lower = value{};
    for (int z = 0; z < NZ; z++) {
        const pack per_air = t.g / f.air[z];
        const dpack density = to_double(f.air[z]) * dpack_at(density_factor, z * W);
        t.density[z] = to_real(density);
        const dpack temperature = to_double(between(s.temperature.start, s.temperature.end, w, cell + z * W));
        const dpack water = to_double(between(s.water.start, s.water.end, w, cell + z * W));
        dpack parameter[PARAMETERS + 1];
        for (int p = 0; p < PARAMETERS; p++)
            parameter[p] = to_double(between(s.parameters.start, s.parameters.end, w, (column * PARAMETERS + p) * COLUMN + z * W));
        rate_functions(temperature, density * REFERENCE_DENSITY, water, secant, light, s.oxygen, s.nitrogen, parameter, t.rate + z);
        const CellAir air = {temperature, density * REFERENCE_DENSITY, water, to_double(f.air[z]), secant, light};
        value upper = column_rates(s, column, z, w, air, t);
        if (z == NZ - 1) upper = value{};      // no exchange above the top
        t.above[z] = upper * per_air, t.below[z] = lower * per_air;
        if constexpr (SETTLING)
            if (z < NZ - 1) t.upper_share[z] = f.air[z + 1] / f.air[z];
        lower = upper;
    }
    t.below[NZ] = value{};                     // no exchange from above the topmost level
    photolysis_functions(secant, light, t.light);
    for (int64_t e = 0; e < s.emitted_count; e++)
        for (int64_t z = 0; z < s.emission_levels; z++) {
            const value source = at(s.emission, ((column * s.emitted_count + e) * s.emission_levels + z) * W);
            t.rhs[s.emitted[e] * NZ + z] += t.g * source / f.air[z];
        }
}
