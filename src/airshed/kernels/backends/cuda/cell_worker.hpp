// cell_worker.hpp: working memory of a thread that integrates one cell after another, and operations on its lane of a pack.
typedef int64_t ipack;
typedef bool mask;
constexpr int LANES = 1;               // of a thread

struct Stages {
    Packs first;
    INLINE_MEMBER Packs operator[](int i) const { return first + i * NS; }
};
struct Absolute {                      // tolerances in the internal unit
    const double* external;
    INLINE_MEMBER real operator[](int i) const {
        const double value = external[i] / UNIT;
        return real(value > 1e-37 ? value : 1e-37);
    }
};

// Values of 32 threads are contiguous in working memory, see `make_worker`.
struct Worker {
    Packs k, a, y, next, f, shift, dfdt, clipped, fresh, solved;
    Stages stage;
    Absolute absolute;
    double time[1], step[1], h[1], error[1];
    int64_t cell[1];                   // pack W + lane, -1 for none
    int64_t tried[1], rejected[1], after_rejection[1], done[1];
    bool guesses;
    double *input, *earlier;           // [input_count][W] at the time of the cell, and slightly earlier
    const double* series;              // [degree + 1][input_count][W]
};

INLINE pack to_pack(const double* lane) { return real(*lane); }
INLINE void out_of_unit(double* lane, pack x, double one) { *lane = one * double(x); }
INLINE ipack whole(const int64_t* lane) { return *lane; }
INLINE bool any(mask lane) { return lane; }
INLINE bool all(mask lane) { return lane; }
INLINE ipack ones(ipack lane) { return lane != 0; }
INLINE void set_lanes(mask& lane, int, ipack given) { lane = given != 0; }
INLINE real in_lane(pack x, int) { return x; }
INLINE double root(double x) { return sqrt(x); }

// Calls store(n, load(n)) for n from 0 to count - 1. A store waits until its operand is loaded, and blocks all later loads. So several
// loads precede the first store.
constexpr int TOGETHER = 8;
template <class Load, class Store> INLINE void in_batches(int64_t count, const Load& load, const Store& store) {
    int64_t n = 0;
    for (; n + TOGETHER <= count; n += TOGETHER) {
        decltype(load(0)) batch[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) batch[i] = load(n + i);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) store(n + i, batch[i]);
    }
    for (; n < count; n++) store(n, load(n));
}
template <class Value> INLINE void fill(Packs to, const Value& value) {
    in_batches(NS, value, [&](int64_t n, pack x) { to[n] = x; });
}
INLINE void copy_inputs(double* to, const double* from, int64_t count) {
    in_batches(count, [&](int64_t i) { return from[i * W]; }, [&](int64_t i, double x) { to[i * W] = x; });
}
INLINE void record_step(const Cells&, const Worker&) {}
// The result becomes the state. It is copied: if threads exchanged addresses, a warp would read two rows of memory for each species.
INLINE void take_next(Worker& t) {
    fill(t.y, [&](int n) { return t.next[n]; });
}
INLINE void solve_stage(Worker& t, int i) { solve(t.a, t.stage[i]); }
