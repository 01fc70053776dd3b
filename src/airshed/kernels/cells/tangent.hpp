// tangent.hpp: replay of recorded steps, and their tangent, a pack of cells at a time.
//
// With W K_i = R_i,  W = shift - J(y),  y new = y + sum m_i K_i, and d for tangents of y and of rate constants,
//
//     W dK_i = df_i + sum c_ij/h dK_j + d(J(y)) K_i,      df_i = d f(y + sum a_ij K_j),      dy new = dy + sum m_i dK_i
//
// The length of a step is constant. A replay computes y from other values or rates; the tangent uses recorded states and
// recorded negative species. Inputs are constant over the interval, without emission and loss.

struct Changed {
    pack y[NS + 1], next[NS + 1], f[NS + 1], stage[MOST_STAGES][NS + 1], k[NR + 1];
};

static void argument_along(const Method& method, int64_t i, Worker& t, Changed& d) {
    for (int n = 0; n < NS; n++) t.next[n] = t.y[n], d.next[n] = d.y[n], d.f[n] = pack{};
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) {
            t.next[n] += real(method.a[i][j]) * t.stage[j][n];
            d.next[n] += real(method.a[i][j]) * d.stage[j][n];
        }
}

static void stage_along(const Method& method, int64_t i, Worker& t, Changed& d) {
    if (i == 0 || method.evaluates[i]) {
        argument_along(method, i, t, d);
        tendency_along(t.k, t.next, d.k, d.next, d.f);
    }
    const pack inverse = real(1) / to_pack(t.step);
    pack* stage = d.stage[i];
    for (int n = 0; n < NS; n++) stage[n] = d.f[n];
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) stage[n] += (real(method.c[i][j]) * inverse) * d.stage[j][n];
    product_along(t.k, t.y, t.stage[i], d.k, d.y, stage);
    solve(t.a, stage);
}

// Loads the length of the step of each lane with a number; returns the lanes that have it.
static mask load_lengths(const Record& record, int64_t p, int64_t number, Worker& t) {
    mask active = {};
    for (int lane = 0; lane < W; lane++) {
        const int64_t cell = p * W + lane;
        const bool goes_on = number < record.count[cell];
        t.step[lane] = goes_on ? record.step[record.first[cell] + number] : 1.0;   // idle: any finite number
        if (goes_on) active[lane] = -1;
    }
    return active;
}

// Lanes that are not active are unchanged.
static void repeat_step(const Cells& s, const Method& method, mask active, Worker& t) {
    change(s, t, t.y, t.f);
    stages(s, method, t);
    finish<1>(s, method, t);
    for (int n = 0; n < NS; n++) t.y[n] = active ? above_zero(n, t.next[n]) : t.y[n];
}

static void step_along(const Cells& s, const Method& method, mask active, const pack* kept, Worker& t, Changed& d) {
    change(s, t, t.y, t.f);
    stages(s, method, t);
    for (int64_t i = 0; i < method.stages; i++) stage_along(method, i, t, d);
    for (int n = 0; n < NS; n++) {
        pack moved = d.y[n];
        for (int64_t i = 0; i < method.stages; i++) moved += real(method.m[i]) * d.stage[i][n];
        d.y[n] = active ? (kept[n] > 0 ? moved : below_zero(n, moved)) : d.y[n];
    }
}

static void begin_pack(const Cells& s, int64_t p, Worker& t) {
    t.y = t.state[0], t.next = t.state[1];
    std::memcpy((void*)t.series, s.inputs + p * s.input_count * W, s.input_count * W * sizeof(double));
    std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
    rate_constants(t.series, t.k);
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        t.y[i] = pack{}, t.absolute[i] = real(s.absolute[i] / UNIT);
    }
}

static void repeat_pack(const Cells& s, const Method& method, const Along& given, int64_t p, int64_t most, Worker& t) {
    for (int r = 0; r < NR; r++) t.k[r] *= real(given.factors[r]);
    double* const y = given.y + p * NS * W;
    for (int species = 0; species < NS; species++) t.y[place_of_species[species]] = in_unit(y + species * W, 1 / UNIT);
    for (int64_t number = 0; number < most; number++) repeat_step(s, method, load_lengths(*given.record, p, number, t), t);
    for (int species = 0; species < NS; species++) out_of_unit(y + species * W, t.y[place_of_species[species]], UNIT);
}

static void pack_along(const Cells& s, const Method& method, const Along& given, int64_t p, int64_t most, Worker& t, Changed& d) {
    const Record& record = *given.record;
    for (int r = 0; r < NR; r++) d.k[r] = t.k[r] * real(given.factors[r]);
    double* const change = given.y + p * NS * W;
    for (int species = 0; species < NS; species++) d.y[place_of_species[species]] = in_unit(change + species * W, 1 / UNIT);
    for (int64_t number = 0; number < most; number++) {
        pack kept[NS + 1] = {};
        const mask active = load_lengths(record, p, number, t);
        for (int lane = 0; lane < W; lane++) {
            if (!active[lane]) continue;
            const int64_t at = (record.first[p * W + lane] + number) * NS;
            for (int n = 0; n < NS; n++) t.y[n][lane] = record.y[at + n], kept[n][lane] = !record.clipped[at + n];
        }
        step_along(s, method, active, kept, t, d);
    }
    for (int species = 0; species < NS; species++) out_of_unit(change + species * W, d.y[place_of_species[species]], UNIT);
}

extern "C" {
int64_t airshed_along_bytes(int64_t inputs) {
    return sizeof(Worker) + sizeof(Changed) + 192 + 2 * inputs * W * (int64_t)sizeof(double);
}

// All packs: replay or, with `changes`, the tangent. `memory`: airshed_along_bytes(), aligned to 64.
void airshed_along(const Cells* cells, const Method* method, const Along* along, int64_t changes, int64_t packs, void* memory) {
    const FlushDenormals flush;
    const Cells& s = *cells;
    Worker& t = *(Worker*)memory;
    Changed& d = *(Changed*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    t.input = (double*)(((uintptr_t)(&d + 1) + 63) & ~(uintptr_t)63);
    t.series = t.input + s.input_count * W;
    for (int64_t p = 0; p < packs; p++) {
        begin_pack(s, p, t);
        int64_t most = 0;
        for (int64_t cell = p * W; cell < (p + 1) * W; cell++) most = along->record->count[cell] > most ? along->record->count[cell] : most;
        if (changes) pack_along(s, *method, *along, p, most, t, d);
        else repeat_pack(s, *method, *along, p, most, t);
    }
}
}
