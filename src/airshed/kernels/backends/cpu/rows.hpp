// reverse/rows.hpp: which thread takes which row of a step in reverse. Each goes through rows of its own from the south to the
// north, as what the faces of a row give to those that come need then not be computed again. One that has none left steals
// the northern half of what another has left.

struct Rows { int64_t first, last; };    // that nobody has begun; in one word, so that two threads never take the same one

INLINE Rows rows_at(const int64_t* word) {
    const int64_t both = __atomic_load_n(word, __ATOMIC_RELAXED);
    return {both & 0xffffffff, both >> 32};
}
INLINE int64_t word_of(Rows rows) { return rows.first | rows.last << 32; }
INLINE bool exchange(int64_t* word, Rows seen, Rows left) {
    int64_t expected = word_of(seen);
    return __atomic_compare_exchange_n(word, &expected, word_of(left), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Makes half of the most rows that any thread has left those of this one; returns whether there were any.
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

// Returns the next row of a thread, -1 where all are begun.
static int64_t next_row(int64_t* words, int64_t threads, int64_t me) {
    for (;;) {
        const Rows own = rows_at(words + me);
        if (own.first < own.last) {
            if (exchange(words + me, own, {own.first + 1, own.last})) return own.first;
        } else if (!steal(words, threads, me)) return -1;
    }
}
