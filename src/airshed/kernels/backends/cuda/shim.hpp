// shim.hpp: CUDA for g++, to test kernels without a GPU. Blocks run one after the other in a shuffled order, the threads of a block in
// turns, each on its own stack up to its next exchange with other threads. Stacks are filled with NaN before each block. A shuffle
// that not all threads of a warp reach together ends the program.
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <utility>
#include <vector>
using std::fmod;

#define __global__
#define __launch_bounds__(threads)
#define __constant__
#define __grid_constant__
#define INLINE_MEMBER inline

struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim;

namespace shim {
constexpr size_t STACK = STACK_BYTES;
struct Thread {
    jmp_buf place;
    ucontext_t start;
    double given[2];                       // values of the two newest exchanges
    long exchanges;
    bool ended;
};
static std::vector<Thread> threads;
static jmp_buf scheduler;
static std::function<void()> kernel;       // with its argument

static void enter() {
    kernel();
    threads[threadIdx.x].ended = true;
    _longjmp(scheduler, 1);
}

// Hands a value to the other threads of the warp, and waits for theirs.
static void give(double x) {
    Thread& own = threads[threadIdx.x];
    own.given[own.exchanges++ % 2] = x;
    if (!_setjmp(own.place)) _longjmp(scheduler, 1);
}

static double taken(unsigned lane) {
    const unsigned first = threadIdx.x / 32 * 32;
    const Thread &own = threads[threadIdx.x], &other = threads[first + lane];
    const long ahead = other.exchanges - own.exchanges;    // threads before this one may have reached their next exchange
    if (ahead != 0 && ahead != (first + lane < threadIdx.x && !other.ended)) {
        std::fprintf(stderr, "threads %u and %u of a warp do not exchange together\n", threadIdx.x, first + lane);
        std::abort();
    }
    return other.given[(own.exchanges - 1) % 2];
}

static void run(std::function<void()> work, int64_t blocks, int64_t count, uint64_t seed) {
    std::vector<unsigned char> stacks(STACK * size_t(count));
    threads.assign(size_t(count), Thread{});
    kernel = work, blockDim = {unsigned(count), 1, 1};
    std::vector<unsigned> order;
    for (unsigned n = 0; n < blocks; n++) order.push_back(n);
    for (unsigned n = unsigned(blocks); n > 1; n--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        std::swap(order[n - 1], order[(seed >> 33) % n]);
    }
    for (const unsigned block : order) {
        blockIdx = {block, 0, 0};
        std::memset(stacks.data(), 0xff, stacks.size());
        for (unsigned n = 0; n < count; n++) {
            Thread& t = threads[n];
            t.ended = false, t.exchanges = 0;
            getcontext(&t.start);
            t.start.uc_stack.ss_sp = stacks.data() + STACK * n, t.start.uc_stack.ss_size = STACK, t.start.uc_link = nullptr;
            makecontext(&t.start, enter, 0);
        }
        for (volatile long turn = 0, left = count; left > 0; turn = turn + 1)
            for (volatile unsigned n = 0; n < count; n = n + 1) {
                if (threads[n].ended) continue;
                threadIdx = {n, 0, 0};
                if (!_setjmp(scheduler)) {
                    if (turn == 0) setcontext(&threads[n].start);
                    _longjmp(threads[n].place, 1);
                }
                if (threads[n].ended) left = left - 1;
            }
    }
}

// Starts a kernel with an argument at an address: a structure, or the address of one.
template <class Argument> void launch(void (*function)(const Argument*), const void* argument, int64_t blocks, int64_t count, uint64_t seed) {
    run([=] { function((const Argument*)argument); }, blocks, count, seed);
}
template <class Argument> void launch(void (*function)(Argument), const void* argument, int64_t blocks, int64_t count, uint64_t seed) {
    run([=] { function(*(const Argument*)argument); }, blocks, count, seed);
}
}

// The other threads of a block run before this one goes on.
template <class T, class N> T atomicAdd(T* to, N more) {
    const T before = *to;
    *to += T(more);
    if (!_setjmp(shim::threads[threadIdx.x].place)) _longjmp(shim::scheduler, 1);
    return before;
}
[[noreturn]] static inline void __trap() { std::fprintf(stderr, "a kernel has stopped\n"), std::abort(); }
template <class T> T __shfl_sync(unsigned, T x, int lane) { return shim::give(double(x)), T(shim::taken(unsigned(lane) % 32)); }
template <class T> T __shfl_up_sync(unsigned, T x, int away) {
    const int lane = int(threadIdx.x % 32);
    return shim::give(double(x)), T(shim::taken(unsigned(lane < away ? lane : lane - away)));
}
template <class T> T __shfl_xor_sync(unsigned, T x, int away) {
    const int lane = int(threadIdx.x % 32);
    return shim::give(double(x)), T(shim::taken(unsigned(lane ^ away)));
}
static bool __any_sync(unsigned, bool x) {
    shim::give(x);
    bool any = false;
    for (unsigned lane = 0; lane < 32; lane++) any = shim::taken(lane) != 0 || any;
    return any;
}
