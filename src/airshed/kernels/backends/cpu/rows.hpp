// reverse/rows.hpp: assignment of rows of a reversed step to threads. Each thread advances through its own rows from south to
// north, so that contributions of the faces of a row to the next rows need not be computed again. A thread without rows steals
// the northern half of the rows of another thread.

struct Rows { int64_t first, last; };    // rows not yet started; stored in one word, so that no two threads take the same row

INLINE Rows rows_at(const int64_t* word) {
    const int64_t both = __atomic_load_n(word, __ATOMIC_RELAXED);
    return {both & 0xffffffff, both >> 32};
}
INLINE int64_t word_of(Rows rows) { return rows.first | rows.last << 32; }
INLINE bool exchange(int64_t* word, Rows seen, Rows left) {
    int64_t expected = word_of(seen);
    return __atomic_compare_exchange_n(word, &expected, word_of(left), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Moves half of the largest range of remaining rows to this thread; returns whether there were any.
static bool steal(int64_t* words, int64_t threads, int64_t me) {
    for (;;) {
        int64_t from = 0;
        Rows most{};
        for (int64_t other = 0; other < threads; other++) {
            const Rows left = rows_at(words + other);
            if (left.last - left.first > most.last - most.first) most = left, from = other;
        }
        const Rows stolen{most.first + (most.last - most.first) / 2, most.last};
        if (stolen.first == stolen.last) return false;
        if (!exchange(words + from, most, {most.first, stolen.first})) continue;
        __atomic_store_n(words + me, word_of(stolen), __ATOMIC_RELAXED);
        return true;
    }
}

// Returns the next row of a thread, -1 if all rows are started.
static int64_t next_row(int64_t* words, int64_t threads, int64_t me) {
    for (;;) {
        const Rows own = rows_at(words + me);
        if (own.first < own.last) {
            if (exchange(words + me, own, {own.first + 1, own.last})) return own.first;
        } else if (!steal(words, threads, me)) return -1;
    }
}
