// chemistry/tangent/rosenbrock.hpp: steps of given lengths, and their tangent, a pack of cells at a time.
//
// With W K_i = R_i,  W = shift - J(y),  y new = y + sum m_i K_i, and d for changes of y and of rate constants,
//
//     W dK_i = df_i + sum c_ij/h dK_j + d(J(y)) K_i,      df_i = d f(y + sum a_ij K_j),      dy new = dy + sum m_i dK_i
//
// The length of a step is what it was. Inputs do not change over the interval, and nothing is emitted or lost.

struct Along {             // kernels/cpu/chemistry/tangent/stepper.py mirrors it
    const Record* record;  // the lengths of steps
    double *y, *change;    // concentrations and their change: in at the start, out at the end, [pack][NS][W]
    const double *factors, *of_factors;   // on rates of reactions, and the changes of these, [NR]
};

struct Changed {
    pack y[NS + 1], next[NS + 1], f[NS + 1], stage[MOST_STAGES][NS + 1], k[NR + 1];
};

static void argument_along(const Method& method, int64_t i, Lanes& t, Changed& d) {
    for (int n = 0; n < NS; n++) t.next[n] = t.y[n], d.next[n] = d.y[n], d.f[n] = pack{};
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) {
            t.next[n] += real(method.a[i][j]) * t.stage[j][n];
            d.next[n] += real(method.a[i][j]) * d.stage[j][n];
        }
}

static void stage_along(const Method& method, int64_t i, Lanes& t, Changed& d) {
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

// Lanes that are not active keep what they have.
static void step_along(const Cells& s, const Method& method, mask active, Lanes& t, Changed& d) {
    change(s, t, t.y, t.f);
    stages(s, method, t);
    for (int64_t i = 0; i < method.stages; i++) stage_along(method, i, t, d);
    finish<1>(s, method, t);
    for (int n = 0; n < NS; n++) {
        pack moved = d.y[n];
        for (int64_t i = 0; i < method.stages; i++) moved += real(method.m[i]) * d.stage[i][n];
        // what was clipped depends on nothing
        d.y[n] = active ? (t.next[n] >= 0 ? moved : pack{}) : d.y[n];
        t.y[n] = active ? maximum(t.next[n], pack{}) : t.y[n];
    }
}

static void begin_pack(const Cells& s, const Along& given, int64_t p, Lanes& t, Changed& d) {
    t.y = t.state[0], t.next = t.state[1];
    std::memcpy((void*)t.series, s.inputs + p * s.input_count * W, s.input_count * W * sizeof(double));
    std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
    rate_constants(t.series, t.k);
    for (int r = 0; r < NR; r++) d.k[r] = t.k[r] * real(given.of_factors[r]), t.k[r] *= real(given.factors[r]);
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        const int64_t here = (p * NS + species) * W;
        t.y[i] = *(const pack*)(given.y + here), d.y[i] = *(const pack*)(given.change + here);
        t.absolute[i] = real(s.absolute[i] / UNIT);
    }
}

static void end_pack(const Along& given, int64_t p, const Lanes& t, const Changed& d) {
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        const int64_t here = (p * NS + species) * W;
        *(pack*)(given.y + here) = t.y[i], *(pack*)(given.change + here) = d.y[i];
    }
}

extern "C" {
int64_t airshed_along_bytes(int64_t inputs) {
    return sizeof(Lanes) + sizeof(Changed) + 192 + 2 * inputs * W * (int64_t)sizeof(double);
}

// Packs [first, last). `memory`: airshed_along_bytes(), aligned to 64.
void airshed_along(const Cells* cells, const Method* method, const Along* along, int64_t first, int64_t last, void* memory) {
    const FlushDenormals flush;
    const Cells& s = *cells;
    const Record& record = *along->record;
    Lanes& t = *(Lanes*)memory;
    Changed& d = *(Changed*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    t.input = (double*)(((uintptr_t)(&d + 1) + 63) & ~(uintptr_t)63);
    t.series = t.input + s.input_count * W;
    for (int64_t p = first; p < last; p++) {
        begin_pack(s, *along, p, t, d);
        int64_t most = 0;
        for (int lane = 0; lane < W; lane++) most = record.room[p * W + lane] > most ? record.room[p * W + lane] : most;
        for (int64_t number = 0; number < most; number++) {
            mask active = {};
            for (int lane = 0; lane < W; lane++) {
                const bool goes_on = number < record.room[p * W + lane];
                t.step[lane] = goes_on ? record.step[record.first[p * W + lane] + number] : 1.0;   // idle: anything finite
                if (goes_on) active[lane] = -1;
            }
            step_along(s, *method, active, t, d);
        }
        end_pack(*along, p, t, d);
    }
}
}
