// step.hpp: one time step of a rectangle of blocks. Rectangles are independent: the same bits for any division and order.

static void finish_block(const Step& s, int64_t row, int64_t block, const Worker& t) {
    double* sums = s.sums + (row * s.blocks + block) * SUMS;
    for (int term = 0; term < TERMS; term++)
        for (int i = 0; i < NS; i++) sums[term * NS + i] = sum(t.result[term][i]);
    for (int family = 0; family < FAMILIES; family++) sums[TERMS * NS + family] = sum(t.imbalance[family]);
}

static void step_block(const Step& s, int64_t row, int64_t block, Worker& t) {
    double* seconds = t.spent.seconds;
    const double began = now();
    load_fluxes(s, row, block, t.flux);
    advance_air(s, row, block, t.flux);
    if constexpr (COLUMN_MATRIX) t.mixes = column_matrices(s, row, block, t.matrix);
    if (at_edge(s, row, block)) transport<true>(s, row, block, t);
    else transport<false>(s, row, block, t);
    const double moved = now();
    if constexpr (!VERTICAL) {
        seconds[TRANSPORT] += moved - began;
        return;
    }
    prepare_column(s, row, block, t);
    const double prepared = now();
    const Values y = values_at(s.q_other, (row * s.blocks + block) * BLOCK);
    for (int64_t sweep = 0; sweep < s.sweeps; sweep++) sweep_species(t, y);
    for (pack& each : t.imbalance) each = pack{};
    add_imbalance(t, y);
    finish_block(s, row, block, t);
    seconds[TRANSPORT] += moved - began, seconds[RATES_AND_SOURCES] += prepared - moved, seconds[CHEMISTRY_AND_MIXING] += now() - prepared;
}
