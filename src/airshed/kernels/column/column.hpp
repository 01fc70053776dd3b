// column.hpp: the implicit part of the step, species by species: chemistry, emission, and operators.
//
// One species over the levels k of a column, with the newest mixing ratios of all other species in P and L:
//     -below_k y_(k-1) + (1 + below_k + above_k + g (L_k + D_k + F_k)) y_k - (above_k + g F_(k+1) A_(k+1)/A_k) y_(k+1) = rhs_k + g P_k
// (tri-diagonal block Gauss-Seidel; Verwer, Blom & Hundsdorfer 1996), with loss operators: D in the cell, F through its lower
// face. The operators of a species are known at compile time; absent ones generate no code. s is the species, S is s or a species
// with the same operators.

// The diagonal of a level after elimination of the level below, of slope `slope`, and the super-diagonal.
template <int S> INLINE value diagonal_of(const Worker& t, int s, int z, value L, value slope, value& above) {
    value diagonal = fused(t.g, L, fused(t.below[z], real(1) - slope, real(1) + t.above[z]));
    above = t.above[z];
    if constexpr (LOST<S>) diagonal = fused(t.g, lost<S>(t, s, z), diagonal);
    if constexpr (LOST_AT_GROUND<S>)
        if (z == 0) diagonal = fused(t.g, lost_at_ground<S>(t, s), diagonal);
    if constexpr (SETTLES<S>) {
        diagonal = fused(t.g, settles<S>(t, s, z), diagonal);
        if (z < NZ - 1) above = fused(t.g * t.upper_share[z], settles<S>(t, s, z + 1), above);
    }
    return diagonal;
}

struct ColumnSums {        // of one species [mol/s, clipped: mol], and values of the newest level
    pack bounded{}, missing{}, reacted{}, clipped{}, taken[OWN_TERMS + 1]{};
};

// The solution of a level, and its share of the sums of chemistry, operators and clipping at zero.
// They all use the clipped values, as other species do. Clipping is the source that balances the equation with these values, so
// that atoms exchanged between species add up to zero when the sweeps have converged.
template <int S> INLINE void limit(Worker& t, int s, int z, value solved, pack rate, Values y, ColumnSums& sums) {
    const value limited = not_below_zero(solved);
    y[s * NZ + z] = limited;
    sums.bounded = plain(limited), sums.missing = sums.bounded - plain(solved);
    sums.reacted = fused(t.flux.weight[z], rate * sums.bounded, sums.reacted);
    if constexpr (LOST<S>) {
        rate += plain(lost<S>(t, s, z));
        take<S>(t, s, z, sums.bounded, sums.taken);
    }
    sums.clipped = fused(t.flux.weight[z], sums.missing * fused(t.g, rate, splat(1)), sums.clipped);
}

// The losses of the lowest level, whose values are the newest in `sums`.
template <int S> INLINE void limit_at_ground(Worker& t, int s, ColumnSums& sums) {
    if constexpr (LOST_AT_GROUND<S>) sums.clipped = fused(t.g * t.flux.weight[first_level()] * plain(lost_at_ground<S>(t, s)), sums.missing, sums.clipped);
    if constexpr (SETTLES<S>) sums.clipped = fused(t.g * t.flux.weight[first_level()] * plain(settles<S>(t, s, first_level())), sums.missing, sums.clipped);
    take_at_ground<S>(t, s, sums.bounded, sums.taken);
}

template <int S> INLINE void store_sums(Worker& t, int s, pack produced, const ColumnSums& sums) {
    store_taken<S>(t, s, sums.taken);
    t.result[CHEMISTRY][s] = produced - sums.reacted;
    t.result[CLIPPED][s] = sums.clipped;
}

// Data shared by the species of a column: rate functions, exchange, sources, and rates of operators.
static void prepare_column(const Step& s, int64_t row, int64_t block, Worker& t) {
    const int64_t cell = (row * s.blocks + block) * COLUMN, column = row * s.blocks + block;
    const pack w = splat(real(s.column_weight));
    const BlockFlux& f = t.flux;
    t.g = splat(real(s.g));
    const dpack secant = to_double(pack_at(s.photolysis_sun, column * 2 * W)), light = to_double(pack_at(s.photolysis_sun, column * 2 * W + W));
    const double* density_factor = s.density_factor + row * s.density_row + block * s.density_block;
    empty_sources(t);
    LinkedLevels<value> exchange;              // air through upper faces [mol/s]
    EACH_LEVEL(z) {
        const dpack density = to_double(f.air[z]) * dpack_at(density_factor, z * W);
        t.density[z] = to_real(density);
        const dpack temperature = to_double(between(s.temperature.start, s.temperature.end, w, cell + z * W));
        const dpack water = to_double(between(s.water.start, s.water.end, w, cell + z * W));
        dpack parameter[PARAMETERS + 1];
        for (int p = 0; p < PARAMETERS; p++)
            parameter[p] = to_double(between(s.parameters.start, s.parameters.end, w, (column * PARAMETERS + p) * COLUMN + z * W));
        rate_functions(temperature, density * REFERENCE_DENSITY, water, secant, light, s.oxygen, s.nitrogen, parameter, t.rate, z);
        const CellAir air = {temperature, density * REFERENCE_DENSITY, water, to_double(f.air[z]), secant, light};
        exchange[z] = column_rates(s, column, z, w, air, t);
        if (z == NZ - 1) exchange[z] = value{};   // no exchange above the top
    }
    link_levels(exchange), link_levels(t.flux.air), link_rates(t);
    EACH_LEVEL(z) {
        const pack per_air = t.g / f.air[z];
        t.above[z] = exchange[z] * per_air, t.below[z] = (z > 0 ? exchange[z - 1] : value{}) * per_air;
        if constexpr (SETTLING)
            if (z < NZ - 1) t.upper_share[z] = f.air[z + 1] / f.air[z];
    }
    store_sources(t);
    photolysis_functions(secant, light, t.light);
    for (int64_t e = 0; e < s.emitted_count; e++)
        EACH_LEVEL(z) {
            if (z >= s.emission_levels) break;
            const value source = at(s.emission, ((column * s.emitted_count + e) * s.emission_levels + z) * W);
            t.rhs[s.emitted[e] * NZ + z] += t.g * source / f.air[z];
        }
}
