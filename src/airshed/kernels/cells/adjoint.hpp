// adjoint.hpp: the adjoint of accepted steps of any Rosenbrock method, a pack of cells at a time.
//
// With W K_i = R_i,  W = shift - J(y),  y new = y + sum m_i K_i, and bar for adjoints, from the last stage to the first:
//
//     v_i = W'^-1 bar K_i,    bar K_j += c_ij/h v_i + a_ij J(y_i)' bar f_i,    bar y += J(y_i)' bar f_i + d(v_i' J(y) K_i)/dy
//
// where bar f_i sums v_i of the stages that use f at y_i. The length of a step is a constant: step control is not differentiated.

struct Reversed {
    pack bar[NS + 1];                            // adjoint of the state
    pack given[NS + 1];                          // of the state before the step
    pack change[NS + 1], drift[NS + 1];          // of f in the current stage, and of df/dt
    pack kept[NS + 1];                           // 0 if the step made the species negative, else 1
    pack slope[NS + 1];
    pack stage[MOST_STAGES][NS + 1];             // of K, then v
    pack rate[NR + 1], source[2 * NS + 1];
};

INLINE const double* gain(const Cells& s, const Worker& t) { return loss(s, t) + s.lost_count * W; }

// Adds the contribution of f at y, with the current rate constants, to the adjoints of y, rate constants and sources.
static void change_reversed(const Cells& s, const Worker& t, const pack* y, const pack* bar_f, pack* bar_y, Reversed& b) {
    tendency_reversed(t.k, y, bar_f, bar_y, b.rate);
    for (int64_t e = 0; e < s.emitted_count; e++) b.source[e] += real(1 / UNIT) * to_pack(gain(s, t) + e * W) * bar_f[s.emitted[e]];
    for (int64_t l = 0; l < s.lost_count; l++) {
        const int n = s.lost[l];
        const int64_t place = s.emitted_count + l;
        bar_y[n] -= to_pack(loss(s, t) + l * W) * bar_f[n];
        b.source[place] -= to_pack(gain(s, t) + place * W) * y[n] * bar_f[n];
    }
}

// Adds the contribution of J(y) and of loss rates in the matrix of a step: W K = R has the adjoint  v' dJ K.
static void matrix_reversed(const Cells& s, const Worker& t, const pack* stage, const pack* v, Reversed& b) {
    product_reversed(t.k, t.y, stage, v, b.given, b.rate);
    for (int64_t l = 0; l < s.lost_count; l++) {
        const int n = s.lost[l];
        const int64_t place = s.emitted_count + l;
        b.source[place] -= to_pack(gain(s, t) + place * W) * stage[n] * v[n];
    }
}

// Recomputes the argument of stage i; adds the contribution of f there to it and to earlier stages.
static void argument_reversed(const Cells& s, const Method& method, int64_t i, Worker& t, Reversed& b) {
    for (int n = 0; n < NS; n++) t.next[n] = t.y[n], b.slope[n] = pack{};
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) t.next[n] += real(method.a[i][j]) * t.stage[j][n];
    if (s.degree > 0) rates_at(s, t, method.alpha[i]);
    change_reversed(s, t, t.next, b.change, b.slope, b);
    for (int n = 0; n < NS; n++) b.given[n] += b.slope[n], b.change[n] = pack{};
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) b.stage[j][n] += real(method.a[i][j]) * b.slope[n];
}

static void stage_reversed(const Cells& s, const Method& method, int64_t i, Worker& t, Reversed& b) {
    const pack step = to_pack(t.step), inverse = real(1) / step, gamma = real(method.gamma_sum[i]) * step;
    pack* v = b.stage[i];
    solve_transposed(t.a, v);
    for (int n = 0; n < NS; n++) b.drift[n] += gamma * v[n], b.change[n] += v[n];
    for (int64_t j = 0; j < i; j++)
        for (int n = 0; n < NS; n++) b.stage[j][n] += (real(method.c[i][j]) * inverse) * v[n];
    if (i > 0 && method.evaluates[i]) argument_reversed(s, method, i, t, b);
}

// Repeats the step from t.y, up to its matrix and its stages.
static void step_again(const Cells& s, const Method& method, Worker& t) {
    if (s.degree > 0) rates_at(s, t, 0.0);
    change(s, t, t.y, t.f);
    if (s.degree > 0) {
        differentiate_in_time(s, t);
        rates_at(s, t, 0.0);
    }
    stages(s, method, t);
}

// Lanes that are not active keep their adjoints.
static void step_reversed(const Cells& s, const Method& method, mask active, Worker& t, Reversed& b) {
    step_again(s, method, t);
    for (int n = 0; n < NS; n++) {
        // the sign of the recorded step, since round-off may change it in the repeated one
        b.given[n] = active ? (b.kept[n] > 0 ? b.bar[n] : below_zero(n, b.bar[n])) : pack{};
        b.change[n] = b.drift[n] = pack{};
        for (int64_t i = 0; i < method.stages; i++) b.stage[i][n] = real(method.m[i]) * b.given[n];
    }
    for (int64_t i = method.stages - 1; i >= 0; i--) stage_reversed(s, method, i, t, b);
    if (s.degree > 0) rates_at(s, t, 0.0);
    change_reversed(s, t, t.y, b.change, b.given, b);
    for (int64_t i = 0; i < method.stages; i++) matrix_reversed(s, t, t.stage[i], b.stage[i], b);
    if (s.degree > 0) {
        differentiate_in_time(s, t);   // stores derivatives in the arrays of rate constants and sources
        change_reversed(s, t, t.y, b.drift, b.given, b);
    }
    for (int n = 0; n < NS; n++) b.bar[n] = active ? b.given[n] : b.bar[n];
}

// Loads the step of each lane with a number counted from its last one; returns the lanes that have it.
static mask load_steps(const Cells& s, const Record& record, int64_t p, int64_t number, Worker& t, pack* kept) {
    mask active = {};
    for (int lane = 0; lane < lanes_in(s, p); lane++) {
        const int64_t cell = p * W + lane;
        t.time[lane] = s.start, t.step[lane] = 1.0;   // idle: anything finite
        if (number > record.count[cell]) continue;
        const int64_t at = record.first[cell] + record.count[cell] - number;
        active[lane] = -1, t.time[lane] = record.time[at], t.step[lane] = record.step[at];
        for (int n = 0; n < NS; n++) t.y[n][lane] = record.y[at * NS + n], kept[n][lane] = !record.clipped[at * NS + n];
    }
    return active;
}

static void begin_pack(const Cells& s, const Backward& out, int64_t p, Worker& t, Reversed& b) {
    std::memset((void*)&b, 0, sizeof b);
    t.y = t.state[0], t.next = t.state[1];
    for (int lane = 0; lane < W; lane++) t.time[lane] = s.start, t.step[lane] = 1.0;
    std::memcpy((void*)t.series, s.inputs + p * (s.degree + 1) * s.input_count * W,
                (s.degree + 1) * s.input_count * W * sizeof(double));
    if (s.degree == 0) {
        std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
        rate_constants(t.series, t.k);
    }
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        t.y[i] = pack{}, b.bar[i] = in_unit(out.adjoint + (p * NS + species) * W, UNIT);
        t.absolute[i] = real(s.absolute[i] / UNIT);
    }
}

static void end_pack(const Cells& s, const Backward& out, int64_t p, const Reversed& b) {
    const int64_t sources = s.emitted_count + s.lost_count;
    for (int species = 0; species < NS; species++)
        out_of_unit(out.adjoint + (p * NS + species) * W, b.bar[place_of_species[species]], 1 / UNIT);
    for (int r = 0; r < NR; r++) out_of_unit(out.rates + (p * NR + r) * W, b.rate[r], 1.0);
    for (int64_t i = 0; i < sources; i++) out_of_unit(out.sources + (p * sources + i) * W, b.source[i], 1.0);
}

extern "C" {
int64_t airshed_reversed_bytes(int64_t inputs, int64_t degree) {
    return sizeof(Worker) + sizeof(Reversed) + 192 + (degree + 3) * inputs * W * (int64_t)sizeof(double);
}

// Adjoints of packs [first, last). `memory`: airshed_reversed_bytes(), aligned to 64.
void airshed_reverse(const Cells* cells, const Method* method, const Backward* out, int64_t first, int64_t last, void* memory) {
    const FlushDenormals flush;
    const Cells& s = *cells;
    Worker& t = *(Worker*)memory;
    Reversed& b = *(Reversed*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    t.input = (double*)(((uintptr_t)(&b + 1) + 63) & ~(uintptr_t)63);
    t.earlier = t.input + s.input_count * W, t.series = t.earlier + s.input_count * W;
    for (int64_t p = first; p < last; p++) {
        begin_pack(s, *out, p, t, b);
        int64_t most = 0;
        for (int lane = 0; lane < lanes_in(s, p); lane++) {
            const int64_t count = out->record->count[p * W + lane];
            most = count > most ? count : most;
        }
        for (int64_t number = 1; number <= most; number++)
            step_reversed(s, *method, load_steps(s, *out->record, p, number, t, b.kept), t, b);
        end_pack(s, *out, p, b);
    }
}
}
