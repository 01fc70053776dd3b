// work_sharing.hpp: threads share the pieces of a batch of steps, see kernels/backends/cpu/work_sharing.py.
//
// A thread takes the next piece whose inputs are available:
//
//   a piece of step n needs                     all pieces of step n - 1
//   a piece at an open side needs in addition   the halo
#include <sched.h>
#include <unistd.h>

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

constexpr int64_t EAGER_TURNS = 256;   // about half a millisecond

// Hints to the core that the thread waits.
INLINE void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Yields the core after some microseconds: the thread that is waited for may need it. A thread that has waited for long sleeps
// for a time that is short compared with its wait: a core that is only yielded returns immediately, again and again.
static void give_way(int64_t idle) {
    for (int turn = 0; turn < 64; turn++) relax();
    if (idle < EAGER_TURNS) sched_yield();
    else usleep(50);
}

INLINE int64_t look(const int64_t& number) { return __atomic_load_n(&number, __ATOMIC_ACQUIRE); }

INLINE bool complete(const WorkQueue& queue, int64_t step) { return look(queue.finished) >= step * queue.pieces; }

// Takes the next piece whose inputs are available, if any.
static bool take(WorkQueue& queue, int64_t& step, int64_t& piece) {
    for (int64_t taken = look(queue.taken);;) {
        step = taken >> 16, piece = taken & 0xffff;
        if (piece == queue.pieces) {
            if (!complete(queue, step)) return false;
            step++, piece = 0;
        }
        if (step > look(queue.prepared) || (piece >= queue.inner && look(queue.edges) < step)) return false;
        const int64_t next = (step << 16) + piece + 1;
        if (__atomic_compare_exchange_n(&queue.taken, &taken, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return true;
    }
}

extern "C" {
int64_t airshed_worker_bytes(int64_t blocks) { return sizeof(Worker) + 64 + blocks * NS * NZ * (int64_t)sizeof(value); }

void airshed_edges_are_here(WorkQueue* queue) { __atomic_store_n(&queue->edges, queue->prepared, __ATOMIC_RELEASE); }

void airshed_give_up(WorkQueue* queue) { __atomic_store_n(&queue->given_up, 1, __ATOMIC_RELEASE); }

// Computes until all prepared steps are done, at most `most` pieces, or until `patience` turns of some microseconds passed without
// work; returns whether the steps are done. `memory`: airshed_worker_bytes() bytes aligned to 64, one block for each thread.
int64_t airshed_work(WorkQueue* queue, int64_t most, int64_t patience, void* memory) {
    const FlushDenormals flush;
    Worker& t = *(Worker*)memory;
    double idle_since = 0;
    int64_t idle = 0, step, piece;
    bool finished = false;
    while (!(finished = complete(*queue, queue->prepared)) && most > 0 && idle < patience && !look(queue->given_up)) {
        if (take(*queue, step, piece)) {
            if (idle) t.spent.waited += now() - idle_since;
            step_piece(queue->steps[step % queue->capacity], queue->piece[piece], t);
            __atomic_fetch_add(&queue->finished, 1, __ATOMIC_ACQ_REL);
            idle = 0, most--;
            continue;
        }
        if (!idle++) idle_since = now();
        give_way(idle);
    }
    if (idle) t.spent.waited += now() - idle_since;
    return finished;
}
}
