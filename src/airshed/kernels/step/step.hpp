// step.hpp: one time step of a rectangle of blocks. Rectangles are independent: the same bits for any division and order.
#include <time.h>

static void finish_block(const Step& s, int64_t row, int64_t block, const Worker& t) {
    double* sums = s.sums + (row * s.blocks + block) * SUMS;
    for (int term = 0; term < TERMS; term++)
        for (int i = 0; i < NS; i++) sums[term * NS + i] = sum(t.result[term][i]);
    for (int family = 0; family < FAMILIES; family++) sums[TERMS * NS + family] = sum(t.imbalance[family]);
}

// [s] of a monotonic clock. (The clock of C: compilers take longer to read the headers of the C++ clock, numeric functions or
// containers than a whole small mechanism.)
INLINE double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void step_block(const Step& s, int64_t row, int64_t block, Worker& t) {
    double* seconds = t.spent.seconds;
    const double began = now();
    load_fluxes(s, row, block, t.flux);
    advance_air(s, row, block, t.flux);
    if constexpr (COLUMN_MATRIX) t.mixes = column_matrices(s, row, block, t.matrix);
    const bool edge = (row == 0 && s.south.edge) || (row >= s.rows - 2 && s.north.edge) || (block == 0 && s.west.edge)
        || (block == s.blocks - 1 && s.east.edge) || before_one_column(s, block);
    if (edge) transport<true>(s, row, block, t);
    else transport<false>(s, row, block, t);
    const double moved = now();
    if constexpr (!VERTICAL) {
        seconds[TRANSPORT] += moved - began;
        return;
    }
    prepare_column(s, row, block, t);
    const double prepared = now();
    value* y = (value*)(s.q_other + (row * s.blocks + block) * BLOCK);
    for (int64_t sweep = 0; sweep < s.sweeps; sweep++) sweep_species(t, y);
    std::memset((void*)t.imbalance, 0, sizeof t.imbalance);
    add_imbalance(t, y);
    finish_block(s, row, block, t);
    seconds[TRANSPORT] += moved - began, seconds[RATES_AND_SOURCES] += prepared - moved, seconds[CHEMISTRY_AND_MIXING] += now() - prepared;
}

// Computes a piece of a step, in any order and on any thread. A piece that starts at the end of the previous piece of the thread
// recomputes no faces.
static void step_piece(const Step& s, const Piece& piece, Worker& t) {
    t.carry_y = (value*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    const int64_t west = piece.first_block;
    const bool goes_on = t.step == s.number && t.row == piece.first_row && t.first_block == west && t.last_block == piece.last_block;
    if (HORIZONTAL && !goes_on)
        for (int64_t b = west; b < piece.last_block; b++) start_row(s, piece.first_row, b, t.carry_y + b * NS * NZ);
    for (int64_t row = piece.first_row; row < piece.last_row; row++) {
        if (HORIZONTAL && (west > 0 || !s.west.edge)) start_block(s, row, west, t.carry_x);
        for (int64_t b = west; b < piece.last_block; b++) step_block(s, row, b, t);
    }
    t.step = s.number, t.row = piece.last_row, t.first_block = west, t.last_block = piece.last_block;
}

extern "C" {
// Rate constants of every reaction in one pack of cells, for tests: the same functions as in the step.
void airshed_rates(const double* temperature, const double* density, const double* water, const double* secant,
                   const double* light, double oxygen, double nitrogen, const double* parameters, double* functions,
                   double* photolysis) {
    pack rate[RATES * NZ + 1], j[PHOTOLYSES + 1];
    const dpack sec = *(const dpack*)secant, lit = *(const dpack*)light;
    rate_functions(*(const dpack*)temperature, *(const dpack*)density, *(const dpack*)water, sec, lit, oxygen, nitrogen,
                   (const dpack*)parameters, rate);
    photolysis_functions(sec, lit, j);
    for (int r = 0; r < RATES; r++)
        for (int i = 0; i < W; i++) functions[r * W + i] = rate[r * NZ][i];
    for (int p = 0; p < PHOTOLYSES; p++)
        for (int i = 0; i < W; i++) photolysis[p * W + i] = j[p][i];
}
}
