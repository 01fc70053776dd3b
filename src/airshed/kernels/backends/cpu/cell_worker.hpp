// cell_worker.hpp: working memory of a thread that integrates W cells at once, and operations on all lanes of a pack.
// backends/cuda/cell_worker.hpp replaces this file.
constexpr int LANES = W;               // of a thread
struct Worker {
    pack k[NR + 1], a[NA + 1];
    pack state[2][NS + 1], f[NS + 1], stage[MOST_STAGES][NS + 1], shift[NS + 1], dfdt[NS + 1], clipped[NS + 1];
    pack *y, *next;                        // the current state, and the result of a step
    real absolute[NS + 1];
    pack fresh[NR + 1];                    // rate constants of the pack from which cells are taken
    alignas(64) double time[W], step[W], h[W];
    alignas(64) double error[W];           // mean square of the error over the tolerance
    alignas(64) int64_t cell[W];           // pack W + lane, -1 for none
    alignas(64) int64_t tried[W], rejected[W];   // steps
    alignas(64) int64_t after_rejection[W], done[W];   // 0 or -1
    bool guesses;                          // whether some lanes have no step yet
    int64_t source, source_lane, buffered; // the queue: next cell, and the pack whose rate constants are in `fresh`
    double* input;                         // [input_count][W] of the lanes at their times
    double* earlier;                       // the same at a slightly earlier time
    double* series;                        // [degree + 1][input_count][W] of the lanes
};

INLINE pack to_pack(const double* lanes) {
    pack result;
    for (int lane = 0; lane < W; lane += D) *(narrow*)((real*)&result + lane) = __builtin_convertvector(wide(lanes + lane), narrow);
    return result;
}
// Doubles in external units, multiplied by the external value of the internal unit, and back.
INLINE pack in_unit(const double* lanes, double one) {
    pack result;
    for (int lane = 0; lane < W; lane += D)
        *(narrow*)((real*)&result + lane) = __builtin_convertvector(one * wide(lanes + lane), narrow);
    return result;
}
INLINE void out_of_unit(double* lanes, pack x, double one) {
    for (int lane = 0; lane < W; lane += D)
        *(dpack*)(lanes + lane) = one * __builtin_convertvector(*(const narrow*)((const real*)&x + lane), dpack);
}
INLINE ipack whole(const int64_t* lanes) { return *(const ipack*)lanes; }
typedef decltype(pack{} < pack{}) mask;
typedef decltype(narrow{} < narrow{}) narrow_mask;
typedef std::remove_reference_t<decltype(mask{}[0])> number;
INLINE bool any(mask lanes) {
    bool found = false;
    for (int lane = 0; lane < W; lane++) found |= lanes[lane] != 0;
    return found;
}
INLINE bool all(mask lanes) { return !any(~lanes); }
INLINE ipack ones(ipack lanes) { return -lanes; }             // 1 in each lane that is set
INLINE void set_lanes(mask& lanes, int first, ipack given) {
    *(narrow_mask*)((number*)&lanes + first) = __builtin_convertvector(given, narrow_mask);
}
INLINE real in_lane(const pack& x, int lane) { return x[lane]; }
INLINE double root(double x) { return __builtin_sqrt(x); }
INLINE void copy_inputs(double* to, const double* from, int64_t count) { std::memcpy((void*)to, from, count * W * sizeof(double)); }
template <class Value> INLINE void fill(Packs to, const Value& value) {
    for (int n = 0; n < NS; n++) to[n] = value(n);
}
INLINE void take_next(Worker& t) { std::swap(t.y, t.next); }   // the result becomes the state
INLINE void solve_stage(Worker& t, int i) { solve(t.a, t.stage[i]); }

// Records the start of a step and its negative species; overwrites the previous entry if that step was rejected.
NOINLINE void keep(const Record& record, const Worker& t) {
    for (int lane = 0; lane < W; lane++) {
        const int64_t cell = t.cell[lane], number = t.tried[lane] - t.rejected[lane];
        if (cell < 0 || number >= record.count[cell]) continue;
        const int64_t at = record.first[cell] + number;
        record.time[at] = t.time[lane], record.step[at] = t.step[lane];
        for (int n = 0; n < NS; n++) record.y[at * NS + n] = t.y[n][lane], record.clipped[at * NS + n] = t.next[n][lane] < 0;
    }
}
INLINE void record_step(const Cells& s, const Worker& t) {
    if (s.record) keep(*s.record, t);
}
