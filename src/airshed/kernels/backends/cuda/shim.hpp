// shim.hpp: CUDA for g++, to test kernels without a GPU. Blocks run one after the other in a shuffled order. The threads of a block run
// in turn, each on its own stack up to its next shuffle or barrier. Stacks and shared memory are filled with NaN before each block.
// Three errors end the program: threads of a warp do not reach a shuffle together, a thread of a block does not reach a barrier, or a
// thread stores beyond shared memory.
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
#define __launch_bounds__(...)
#define __constant__
#define __grid_constant__
#define INLINE_MEMBER inline
#define UNROLLED
#define SHARED_MEMORY(type, name) type* const name = (type*)shim::shared.data()

struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim;

namespace shim {
constexpr size_t STACK = STACK_BYTES;
struct Thread {
    jmp_buf place;
    ucontext_t start;
    double given[2];                       // operands of the two newest shuffles
    long exchanges, barriers;
    bool waits, ended;                     // waits: at a barrier
};
static std::vector<Thread> threads;
static std::vector<double> shared;         // of a block, and GUARD numbers beyond it that no thread may change
constexpr size_t GUARD = 1024;
static jmp_buf scheduler;
static std::function<void()> kernel;       // with its argument

static void enter() {
    kernel();
    threads[threadIdx.x].ended = true;
    _longjmp(scheduler, 1);
}

// Lets the other threads of the block run.
static void pause() {
    if (!_setjmp(threads[threadIdx.x].place)) _longjmp(scheduler, 1);
}

// Stores the operand of a shuffle, and waits for those of the other threads of the warp.
static void give(double x) {
    Thread& own = threads[threadIdx.x];
    own.given[own.exchanges++ % 2] = x;
    pause();
}

[[noreturn]] static void fail(const char* message) {
    std::fprintf(stderr, "%s\n", message);
    std::abort();
}

static bool all_are_here(long barrier) {
    for (const Thread& other : threads) {
        if (other.barriers >= barrier) continue;
        if (other.ended) fail("a thread of a block ends before a barrier");
        return false;
    }
    return true;
}

static void wait_for_block() {
    Thread& own = threads[threadIdx.x];
    own.barriers++, own.waits = true;
    do pause();
    while (!all_are_here(own.barriers));
    own.waits = false;
}

static double taken(unsigned lane) {
    const unsigned first = threadIdx.x / 32 * 32;
    const Thread &own = threads[threadIdx.x], &other = threads[first + lane];
    const long ahead = other.exchanges - own.exchanges;    // threads before this one may have reached their next shuffle
    if (ahead != 0 && ahead != (first + lane < threadIdx.x && !other.ended && !other.waits)) {
        std::fprintf(stderr, "threads %u and %u of a warp do not exchange together\n", threadIdx.x, first + lane);
        std::abort();
    }
    return other.given[(own.exchanges - 1) % 2];
}

static void run(std::function<void()> work, int64_t blocks, int64_t count, int64_t shared_bytes, uint64_t seed) {
    std::vector<unsigned char> stacks(STACK * size_t(count));
    threads.assign(size_t(count), Thread{});
    shared.assign(size_t(shared_bytes) / sizeof(double) + GUARD, 0);
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
        std::memset((void*)shared.data(), 0xff, shared.size() * sizeof(double));
        for (unsigned n = 0; n < count; n++) {
            Thread& t = threads[n];
            t.ended = t.waits = false, t.exchanges = t.barriers = 0;
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
        for (size_t byte = size_t(shared_bytes); byte < shared.size() * sizeof(double); byte++)
            if (((const unsigned char*)shared.data())[byte] != 0xff) fail("a thread stores beyond shared memory");
    }
}

// Starts a kernel with an argument at an address: a structure, or the address of one.
template <class Argument> void launch(void (*function)(const Argument*), const void* argument, int64_t blocks, int64_t count, int64_t shared_bytes, uint64_t seed) {
    run([=] { function((const Argument*)argument); }, blocks, count, shared_bytes, seed);
}
template <class Argument> void launch(void (*function)(Argument), const void* argument, int64_t blocks, int64_t count, int64_t shared_bytes, uint64_t seed) {
    run([=] { function(*(const Argument*)argument); }, blocks, count, shared_bytes, seed);
}
}

// Atomic operations, after which the other threads of the block run.
template <class T, class N> T atomicAdd(T* to, N more) {
    const T before = *to;
    *to += T(more);
    shim::pause();
    return before;
}
template <class T> T atomicMax(T* to, T other) {
    const T before = *to;
    *to = other > before ? other : before;
    shim::pause();
    return before;
}
static inline long long __double_as_longlong(double x) {
    long long bits;
    return std::memcpy(&bits, &x, sizeof bits), bits;
}
static inline double __longlong_as_double(long long bits) {
    double x;
    return std::memcpy(&x, &bits, sizeof x), x;
}
[[noreturn]] static inline void __trap() { shim::fail("a kernel has stopped"); }
static inline void __syncthreads() { shim::wait_for_block(); }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
template <class T> T __shfl_sync(unsigned, T x, int lane) { return shim::give(double(x)), T(shim::taken(unsigned(lane) % 32)); }
template <class T> T __shfl_up_sync(unsigned, T x, int away) {
    const int lane = int(threadIdx.x % 32);
    return shim::give(double(x)), T(shim::taken(unsigned(lane < away ? lane : lane - away)));
}
template <class T> T __shfl_down_sync(unsigned, T x, int away) {
    const int lane = int(threadIdx.x % 32);
    return shim::give(double(x)), T(shim::taken(unsigned(lane + away > 31 ? lane : lane + away)));
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
