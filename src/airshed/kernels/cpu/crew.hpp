// crew.hpp: who computes which piece of which step, and when. See kernels/crew.py.
//
// Each rank has a Slot in memory that all ranks of its machine see, and a ring of steps that it has prepared. Threads take a piece
// of their own rank's step; where none is to be had, one of a neighbour's, for whom they would otherwise wait. Nothing else
// holds the ranks of a machine together:
//
//   step n of a rank needs          its pieces of step n - 1
//   its pieces at open sides need   the neighbours' pieces of step n - 1, too, and what messages bring
//
// The cells next to a neighbour are read where they lie, in its state. They stay as they are: of the two time levels step n + 1 of
// the neighbour writes over the one that step n here reads, and at its open sides it waits for step n here.
#include <cstddef>
#include <sched.h>
#include <unistd.h>

constexpr int64_t MOST_NEAR = 4, MOST_POINTERS = 96;
constexpr int64_t EAGER_TURNS = 256;   // about half a millisecond

struct alignas(64) Slot {
    alignas(64) int64_t taken;                    // newest step that was begun x 65536 + its pieces that were taken
    alignas(64) int64_t finished;                 // pieces that were computed, of all steps so far; steps count from 1
    alignas(64) int64_t published;                // newest step that is prepared
    int64_t messages;                             // newest step for which messages from neighbours are here
    int64_t given_up;                             // whether nobody is to go on
    int64_t open;                                 // newest step that others can compute, too
    alignas(64) int64_t pieces;                   // of a step
    int64_t inner;                                // those of them that need no neighbour: they come first
    int64_t room;                                 // for so many steps
    const Step* steps;                            // step n at n % room
    const Piece* piece;
    int64_t near_count;
    const Slot* near[MOST_NEAR];                  // neighbours whose state is read where it lies
    // The mapping that ranks share, and which words of a Step are addresses; all addresses here are those of the owner's process.
    char* mapping;
    int64_t mapped;
    int64_t pointer_count, pointers[MOST_POINTERS];
};
static_assert(offsetof(Slot, published) == 128 && offsetof(Slot, pieces) == 192 && offsetof(Slot, mapping) == 272, "as in crew.py");

// A rank's own slot, and those of its neighbours: what to add to an address of theirs.
struct Crew {
    Slot* own;
    int64_t near_count;
    Slot* near[MOST_NEAR];
    int64_t shift[MOST_NEAR];
};

// Tells the core that the thread waits.
INLINE void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

INLINE int64_t look(const int64_t& number) { return __atomic_load_n(&number, __ATOMIC_ACQUIRE); }

INLINE bool complete(const Slot& s, int64_t step) { return look(s.finished) >= step * s.pieces; }

template <class T> INLINE T* moved(T* there, int64_t shift) { return (T*)((char*)there + shift); }

// Whether all that a step looks at beyond the open sides is there.
static bool sides_are_here(const Slot& s, int64_t shift, int64_t step) {
    if (look(s.messages) < step) return false;
    for (int64_t i = 0; i < s.near_count; i++) {
        const Slot& other = *moved(s.near[i], shift);
        if (look(other.published) < step || !complete(other, step - 1)) return false;
    }
    return true;
}

// Takes the next piece of a rank's steps, up to the step `last`, if there is one that can be computed now.
static bool take(Slot& s, int64_t shift, int64_t last, int64_t& step, int64_t& piece) {
    for (int64_t taken = look(s.taken);;) {
        step = taken >> 16, piece = taken & 0xffff;
        if (piece == s.pieces) {
            if (!complete(s, step)) return false;
            step++, piece = 0;
        }
        if (step > last) return false;
        if (piece >= s.inner && !sides_are_here(s, shift, step)) return false;
        const int64_t next = (step << 16) + piece + 1;
        if (__atomic_compare_exchange_n(&s.taken, &taken, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return true;
    }
}

constexpr int64_t WORDS = sizeof(Step) / sizeof(char*);

// A step as another process prepared it, with addresses of this one.
static Step seen_from_here(const Slot& s, const Step& there, int64_t shift) {
    char* words[WORDS];
    std::memcpy(words, &there, sizeof there);
    const int64_t* pointers = s.pointers;
    for (int64_t i = 0; i < s.pointer_count; i++)
        if (words[pointers[i]]) words[pointers[i]] += shift;
    Step here;
    std::memcpy(&here, words, sizeof here);
    return here;
}

// A piece that a thread has taken.
struct Taken {
    Slot* of;
    int64_t shift, step, piece;
};

static bool take_of_neighbours(const Crew& crew, Taken& found) {
    for (int64_t i = 0; i < crew.near_count; i++) {
        found.of = crew.near[i], found.shift = crew.shift[i];
        if (take(*found.of, found.shift, look(found.of->open), found.step, found.piece)) return true;
    }
    return false;
}

static bool take_any(const Crew& crew, Taken& found) {
    found = {crew.own, 0, 0, 0};
    return take(*crew.own, 0, look(crew.own->published), found.step, found.piece) || take_of_neighbours(crew, found);
}

static void compute(const Crew& crew, const Taken& found, Worker& t) {
    Slot& s = *found.of;
    const Step& there = *moved(s.steps + found.step % s.room, found.shift);
    step_piece(found.shift ? seen_from_here(s, there, found.shift) : there, *moved(s.piece + found.piece, found.shift), t);
    __atomic_fetch_add(&s.finished, 1, __ATOMIC_ACQ_REL);
    t.spent.pieces++, t.spent.helped += found.of != crew.own;
}

// Whether a step is done and, where asked for, nobody looks at the state that it began from any more.
static bool done(const Crew& crew, int64_t step, bool unseen) {
    if (!complete(*crew.own, step)) return false;
    for (int64_t i = 0; unseen && i < crew.near_count; i++)
        if (!complete(*crew.near[i], step)) return false;
    return true;
}

// Whether an address is one of the mapping that ranks share.
INLINE bool is_shared(const Slot& s, const void* where) { return where >= s.mapping && where < s.mapping + s.mapped; }

extern "C" {
int64_t airshed_worker_bytes(int64_t blocks) { return sizeof(Worker) + 64 + blocks * NS * NZ * (int64_t)sizeof(pack); }

// Lets threads begin steps up to this one, which are prepared.
void airshed_publish(const Crew* crew, int64_t step) {
    Slot& s = *crew->own;
    bool open = is_shared(s, s.steps) && is_shared(s, s.piece);
    for (int64_t n = s.published + 1; open && n <= step; n++) {
        char* words[WORDS];
        std::memcpy(words, s.steps + n % s.room, sizeof(Step));
        for (int64_t i = 0; i < s.pointer_count; i++) {
            const char* const where = words[s.pointers[i]];
            open = open && (!where || is_shared(s, where));
        }
    }
    __atomic_store_n(&s.published, step, __ATOMIC_RELEASE);
    if (open) __atomic_store_n(&s.open, step, __ATOMIC_RELEASE);
}

void airshed_messages_are_here(const Crew* crew, int64_t step) { __atomic_store_n(&crew->own->messages, step, __ATOMIC_RELEASE); }

void airshed_give_up(const Crew* crew) { __atomic_store_n(&crew->own->given_up, 1, __ATOMIC_RELEASE); }

// Lets go of the core, after some microseconds: whoever else wants it may be the one that is waited for. Who has waited for long
// sleeps for a while that is short beside that: a core that is only given away comes back at once, again and again.
static void give_way(int64_t idle) {
    for (int turn = 0; turn < 64; turn++) relax();
    if (idle < EAGER_TURNS) sched_yield();
    else usleep(50);
}

// Computes a piece for a neighbour, if there is one, else gives way; returns the seconds that it computed.
double airshed_assist(const Crew* crew, void* memory) {
    const FlushDenormals flush;
    Taken found;
    if (!take_of_neighbours(*crew, found)) return sched_yield(), 0;
    const double began = now();
    compute(*crew, found, *(Worker*)memory);
    return now() - began;
}

// Computes until the own rank's step is done, `most` pieces at most, or there was nothing to do for `patience` turns, some
// microseconds each; returns whether it is done. `unseen`: and the neighbours have done it, too. `memory`: airshed_worker_bytes()
// bytes aligned to 64, one for each thread.
int64_t airshed_work(const Crew* crew, int64_t step, int64_t unseen, int64_t most, int64_t patience, void* memory) {
    const FlushDenormals flush;
    Worker& t = *(Worker*)memory;
    Taken found;
    double idle_since = 0;
    int64_t idle = 0;
    bool finished = false;
    while (!(finished = done(*crew, step, unseen)) && most > 0 && idle < patience && !look(crew->own->given_up)) {
        if (take_any(*crew, found)) {
            if (idle) t.spent.waited += now() - idle_since;
            compute(*crew, found, t);
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
