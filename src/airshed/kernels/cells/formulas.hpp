// formulas.hpp: advances blocks of cells by steps. The values of a block are contiguous, pack after pack, for all steps of a call;
// each step reads only varying inputs, and writes only requested results.
#include <vector>

INLINE int64_t place(const Chunks& chunks, int64_t cell) {
    return chunks.length ? cell / chunks.length * chunks.stride + cell % chunks.length : cell;
}
INLINE int64_t row_of(const Input& input, int64_t step) { return input.rows ? input.rows[step] : 0; }
INLINE bool changes(const Input& input, int64_t step) { return !step || row_of(input, step) != row_of(input, step - 1); }
INLINE int64_t to_next(const Input& input, int64_t step, int64_t steps) {
    return step + 1 < steps ? (row_of(input, step + 1) - row_of(input, step)) * input.per_row : 0;
}

typedef float floats __attribute__((vector_size(W * sizeof(float))));
typedef double doubles __attribute__((vector_size(W * sizeof(double))));

// Lanes beyond the last cell repeat it. The next row is prefetched during the computation with this one.
INLINE void fetch(pack* x, const Input& input, int64_t step, int64_t steps, int64_t first, int64_t cells) {
    const int64_t next = to_next(input, step, steps);
    const real* const row = input.from + row_of(input, step) * input.per_row;
    for (; cells > 0; cells -= W, x += SLOTS, first += W) {
        const real* const from = row + input.per_cell * place(input.chunks, first);
        if (!input.per_cell) *x = splat(*from);
        else if (cells >= W) {
            memcpy(x, from, sizeof *x);
            __builtin_prefetch(from + next);
        } else {
            *x = splat(from[cells - 1]);
            memcpy(x, from, cells * sizeof *from);
        }
    }
}

template <typename packs, typename number>
INLINE void put(number* to, const pack* x, int64_t cells) {
    for (; cells > 0; cells -= W, x += SLOTS, to += W) {
        const packs values = __builtin_convertvector(*x, packs);
        if (cells >= W) memcpy(to, &values, sizeof values);
        else memcpy(to, &values, cells * sizeof *to);
    }
}

struct Steps {
    const Input* inputs;
    const Result* results;
    const Record* records;
    int64_t recorded, steps, cells;

    void block(pack* x, int64_t first, int64_t here) const {
        pack* const end = x + (here + W - 1) / W * SLOTS;
        for (int64_t s = 0; s < steps; s++) {
            for (int i = 0; i < INPUTS; i++)
                if (changes(inputs[i], s)) fetch(x + i, inputs[i], s, steps, first, here);
            for (pack* each = x; !s && each < end; each += SLOTS) prepare(each);
            for (pack* each = x; each < end; each += SLOTS) step(each);
            for (int64_t r = 0; r < recorded; r++) {
                const int64_t row = records[r].rows ? records[r].rows[s] : s;            // none: -1
                if (row >= 0) record(records[r], x, row * cells + first, here);
            }
        }
        for (int r = 0; r < RESULTS; r++)
            for (int64_t done = 0; done < here; done += W)
                put<pack>(results[r].to + place(results[r].chunks, first + done), x + done / W * SLOTS + RESULT[r], here - done < W ? here - done : W);
    }

    static void record(const Record& each, const pack* x, int64_t place, int64_t here) {
        x += RESULT[each.result];
        if (each.is_double) put<doubles>((double*)each.to + place, x, here);
        else put<floats>((float*)each.to + place, x, here);
    }
};

// Cells that a thread takes together. A call of few steps is limited by memory: contiguous blocks allow hardware prefetching, and
// a step of a hundred arrays takes half the time.
static int64_t at_once(int64_t steps) { return (steps < 8 ? 8 / steps : 1) * PACKS * W; }

// next  first cell that no thread has taken, in units of `at_once`
extern "C" void airshed_cells(
    const Input* inputs, const Result* results, const Record* records, int64_t recorded, int64_t steps, int64_t cells, int64_t* next
) {
    const FlushDenormals flush;
    const Steps all{inputs, results, records, recorded, steps, cells};
    std::vector<pack> x(PACKS * SLOTS);
    for (const int64_t taken = at_once(steps);;) {
        const int64_t start = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED) * taken;
        if (start >= cells) return;
        const int64_t end = cells - start < taken ? cells : start + taken;
        for (int64_t first = start; first < end; first += PACKS * W)
            all.block(x.data(), first, end - first < PACKS * W ? end - first : PACKS * W);
    }
}
