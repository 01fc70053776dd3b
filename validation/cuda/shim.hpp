// shim.hpp: kernels.hpp for g++: blocks in a shuffled order, the threads of a block in sequence, each with its own stack up to its
// next barrier. Shared memory is initialised to NaN. Shuffles are exchanges through memory between barriers of all threads.
#include <cmath>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

using std::fabs;
using std::signbit;
struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim;
static unsigned char* shim_shared;
static ucontext_t shim_scheduler;
static std::vector<ucontext_t> shim_threads;
static std::vector<double> shim_lanes;
static unsigned shim_thread;

#define DEVICE inline
#define MEMBER
#define SHARED(type, name) type* name = (type*)shim_shared
static void __syncthreads() { swapcontext(&shim_threads[shim_thread], &shim_scheduler); }
static double shim_exchange(double x, int from, int own, int width) {
    shim_lanes[shim_thread] = x;
    __syncthreads();
    const int first = int(shim_thread) - own;
    const double found = shim_lanes[first + (from < 0 || from >= width ? own : from)];
    __syncthreads();
    return found;
}
template <class T> T __shfl_up_sync(unsigned, T x, int d, int width) { return T(shim_exchange(double(x), int(shim_thread % width) - d, shim_thread % width, width)); }
template <class T> T __shfl_down_sync(unsigned, T x, int d, int width) { return T(shim_exchange(double(x), int(shim_thread % width) + d, shim_thread % width, width)); }
template <class T> T reciprocal(T x) { return T(1) / x; }

static void (*shim_kernel)(const struct Step);
static const struct Step* shim_step;
static std::vector<char> shim_done;
static void shim_enter();

// Run a kernel: sizes are blocks (3), threads (3), bytes of shared memory.
static void shim_launch(void (*kernel)(const struct Step), const struct Step* step, const long long* sizes) {
    const unsigned blocks = unsigned(sizes[0] * sizes[1] * sizes[2]), threads = unsigned(sizes[3] * sizes[4] * sizes[5]);
    constexpr size_t STACK = 1 << 16;
    std::vector<unsigned char> stacks(STACK * threads), shared(size_t(sizes[6]) + 8);
    shim_kernel = kernel, shim_step = step, shim_shared = shared.data(), shim_lanes.resize(threads);
    blockDim = {unsigned(sizes[3]), unsigned(sizes[4]), unsigned(sizes[5])};
    for (unsigned n = 0; n < blocks; n++) {
        const unsigned block = unsigned((n * 7919ull + 3) % blocks);   // any prime that does not divide the number of blocks
        blockIdx = {unsigned(block % sizes[0]), unsigned(block / sizes[0] % sizes[1]), unsigned(block / sizes[0] / sizes[1])};
        std::memset(shared.data(), 0xff, shared.size());
        shim_threads.assign(threads, ucontext_t{}), shim_done.assign(threads, 0);
        for (unsigned t = 0; t < threads; t++) {
            ucontext_t& c = shim_threads[t];
            getcontext(&c);
            c.uc_stack.ss_sp = stacks.data() + STACK * t, c.uc_stack.ss_size = STACK, c.uc_link = &shim_scheduler;
            makecontext(&c, shim_enter, 0);
        }
        for (unsigned left = threads; left > 0;)
            for (unsigned t = 0; t < threads; t++) {
                if (shim_done[t]) continue;
                shim_thread = t;
                threadIdx = {unsigned(t % sizes[3]), unsigned(t / sizes[3] % sizes[4]), unsigned(t / sizes[3] / sizes[4])};
                swapcontext(&shim_scheduler, &shim_threads[t]);
                left -= shim_done[t];
            }
    }
}
#define KERNEL(name, threads)                                                                                                \
    static void name(const struct Step);                                                                                     \
    extern "C" void launch_##name(const struct Step* step, const long long* sizes) { shim_launch(name, step, sizes); }       \
    static void name
#define BOUNDED_KERNEL(name, threads, resident) KERNEL(name, threads)
#define APART static
#define CONSTANTS(type) static const type
#define TABLE static const int
