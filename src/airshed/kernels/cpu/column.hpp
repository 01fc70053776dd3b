// column.hpp: the implicit part of the step, species after species: chemistry, vertical diffusion, deposition, emission.
//
// One species over the levels k of a column, with the newest mixing ratios of all others in P and L:
//     -below_k y_(k-1) + (1 + below_k + above_k + g (L_k + D)) y_k - above_k y_(k+1) = rhs_k + g P_k
// (tri-diagonal block Gauss-Seidel; Verwer, Blom & Hundsdorfer 1996). D acts in the lowest level only.

struct Elimination {       // forward elimination of one species: y_k = constant_k + slope_k y_(k+1)
    pack slope[NZ], constant[NZ], loss[NZ];
};

INLINE void eliminate(const Worker& t, int species, int z, pack P, pack L, Elimination& e, pack& slope, pack& constant) {
    pack diagonal = fused(t.g, L, fused(t.below[z], real(1) - slope, real(1) + t.above[z]));
    if (z == 0) diagonal = fused(t.g, t.deposition[species], diagonal);
    const pack inverse = reciprocal(diagonal);
    constant = fused(t.below[z], constant, fused(t.g, P, t.rhs[species * NZ + z])) * inverse;
    slope = t.above[z] * inverse;
    e.slope[z] = slope, e.constant[z] = constant, e.loss[z] = L;
}

// Back substitution, and the sums of what chemistry, deposition and clipping at zero did [mol/s, clipping: mol].
// Chemistry and deposition act on what is kept, which is also what the other species see; clipping is then the source
// that makes the equation hold with it, so that the atoms that species exchange add up to zero once the sweeps converge.
INLINE void substitute(Worker& t, int species, const Elimination& e, pack produced, pack* y) {
    pack value = pack{}, kept = pack{}, lost = pack{}, clipped = pack{};
    for (int z = NZ - 1; z >= 0; z--) {
        value = fused(e.slope[z], value, e.constant[z]);
        kept = maximum(value, pack{});
        y[species * NZ + z] = kept;
        lost = fused(t.flux.weight[z], e.loss[z] * kept, lost);
        clipped = fused(t.flux.weight[z], (kept - value) * fused(t.g, e.loss[z], splat(1)), clipped);
    }
    const pack uptake = t.flux.weight[0] * t.deposition[species];
    t.result[CHEMISTRY][species] = produced - lost;
    t.result[DEPOSITED][species] = uptake * kept;
    t.result[CLIPPED][species] = fused(t.g * uptake, kept - value, clipped);
}

// Whatever the column's species share: rate functions, exchange, sources, sinks.
static void prepare_column(const Step& s, int64_t row, int64_t block, Worker& t) {
    const int64_t cell = (row * s.blocks + block) * COLUMN, column = row * s.blocks + block;
    const pack w = splat(real(s.column_weight));
    const BlockFlux& f = t.flux;
    t.g = splat(real(s.g));
    const pack* sun = (const pack*)(s.photolysis_sun + column * 2 * W);
    const dpack secant = to_double(sun[0]), light = to_double(sun[1]);
    pack lower = pack{};
    for (int z = 0; z < NZ; z++) {
        const pack upper = between(s.exchange.start, s.exchange.end, w, cell + z * W);
        const pack per_air = t.g / f.air[z];
        t.above[z] = upper * per_air, t.below[z] = lower * per_air;
        lower = upper;
        const dpack density = to_double(f.air[z]) * s.density_factor[row * NZ + z];
        t.density[z] = to_real(density);
        const dpack temperature = to_double(between(s.temperature.start, s.temperature.end, w, cell + z * W));
        const dpack water = to_double(between(s.water.start, s.water.end, w, cell + z * W));
        dpack parameter[PARAMETERS + 1];
        for (int p = 0; p < PARAMETERS; p++)
            parameter[p] = to_double(between(s.parameters.start, s.parameters.end, w, (column * PARAMETERS + p) * COLUMN + z * W));
        rate_functions(temperature, density * REFERENCE_DENSITY, water, secant, light, s.oxygen, s.nitrogen, parameter, t.rate + z);
    }
    photolysis_functions(secant, light, t.light);
    for (int i = 0; i < NS; i++) t.deposition[i] = pack{};
    for (int64_t d = 0; d < s.deposited_count; d++) {
        const int64_t o = (column * s.deposited_count + d) * W;
        t.deposition[s.deposited[d]] = between(s.deposition.start, s.deposition.end, w, o) / f.air[0];
    }
    for (int64_t e = 0; e < s.emitted_count; e++)
        for (int64_t z = 0; z < s.emission_levels; z++) {
            const pack source = at(s.emission, ((column * s.emitted_count + e) * s.emission_levels + z) * W);
            t.rhs[s.emitted[e] * NZ + z] += t.g * source / f.air[z];
        }
}
