// step.hpp: one time step of a range of rows. Ranges are independent: a thread each, the same bits for any split.
#include <chrono>

static void finish_row(const Step& s, int64_t row, Worker& t) {
    for (int term = 0; term < TERMS; term++)
        for (int i = 0; i < NS; i++) {
            double sum = 0;
            for (int lane = 0; lane < W; lane++) sum += double(t.sums[term][i][lane]);
            s.sums[(row * TERMS + term) * NS + i] = sum;
        }
    for (int family = 0; family < FAMILIES; family++) {
        double sum = 0;
        for (int lane = 0; lane < W; lane++) sum += double(t.imbalance[family][lane]);
        s.imbalance[row * FAMILIES + family] = sum;
    }
}

INLINE double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void step_block(const Step& s, int64_t row, int64_t block, Worker& t) {
    double* seconds = s.seconds + row * PARTS;
    const double began = now();
    load_fluxes(s, row, block, t.flux);
    advance_air(s, row, block, t.flux);
    const bool edge = row == 0 || row >= s.rows - 2 || block == 0 || block == s.blocks - 1 || before_one_column(s, block);
    if (edge) transport<true>(s, row, block, t);
    else transport<false>(s, row, block, t);
    const double moved = now();
    prepare_column(s, row, block, t);
    const double prepared = now();
    pack* y = (pack*)(s.q_other + (row * s.blocks + block) * BLOCK);
    for (int64_t sweep = 0; sweep < s.sweeps; sweep++) sweep_species(t, y);
    add_imbalance(t, y);
    for (int term : {DEPOSITED, CHEMISTRY, CLIPPED})
        for (int i = 0; i < NS; i++) t.sums[term][i] += t.result[term][i];
    seconds[TRANSPORT] += moved - began, seconds[RATES_AND_SOURCES] += prepared - moved, seconds[SOLVE] += now() - prepared;
}

extern "C" {
int64_t airshed_worker_bytes(int64_t blocks) { return sizeof(Worker) + 64 + blocks * NS * NZ * (int64_t)sizeof(pack); }

// `memory`: airshed_worker_bytes() bytes, aligned to 64, one piece for each thread.
void airshed_step_rows(const Step* step, int64_t first, int64_t last, void* memory) {
    const FlushDenormals flush;
    Worker& t = *(Worker*)memory;
    t.carry_y = (pack*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    for (int64_t block = 0; block < step->blocks; block++) start_row(*step, first, block, t.carry_y + block * NS * NZ);
    for (int64_t row = first; row < last; row++) {
        std::memset((void*)t.sums, 0, sizeof t.sums);
        std::memset((void*)t.imbalance, 0, sizeof t.imbalance);
        for (int64_t block = 0; block < step->blocks; block++) step_block(*step, row, block, t);
        finish_row(*step, row, t);
    }
}

// One thread's share of a step: whichever of the pieces [first row, last row) nobody has taken yet, until none is left. A thread
// that is held up then delays the step by a piece at most, and nobody waits for Python's lock in between.
void airshed_share_rows(const Step* step, const int64_t* pieces, int64_t count, int64_t* taken, void* memory) {
    for (int64_t piece; (piece = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED)) < count;)
        airshed_step_rows(step, pieces[2 * piece], pieces[2 * piece + 1], memory);
}

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
