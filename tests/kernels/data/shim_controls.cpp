// Kernels that the shim must run, or must not: see test_cuda.py.
#define STACK_BYTES 65536
@shim@
struct Step { double* found; };
static void exchange(const Step* s) { s->found[threadIdx.x] = __shfl_sync(~0u, double(threadIdx.x), int(threadIdx.x + 1) % 32); }
static void unset(const Step* s) {
    volatile double local[4];
    s->found[threadIdx.x] = local[2];
}
static void divergent(const Step* s) {
    double x = 0;
    if (threadIdx.x % 2) x = __shfl_sync(~0u, 1.0, 0);
    s->found[threadIdx.x] = x;
}
static void barrier(const Step* s) {       // reads the value of a thread of the other warp
    SHARED_MEMORY(double, shared);
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s->found[threadIdx.x] = __shfl_down_sync(~0u, shared[63 - threadIdx.x], 1);
}
static void unset_shared(const Step* s) {
    SHARED_MEMORY(double, shared);
    s->found[threadIdx.x] = shared[threadIdx.x];
}
static void no_barrier(const Step* s) {
    if (threadIdx.x != 40) __syncthreads();
    s->found[threadIdx.x] = 0;
}
static void beyond_shared(const Step* s) {
    SHARED_MEMORY(double, shared);
    shared[threadIdx.x + 1] = s->found[threadIdx.x] = 0;
}
#define CONTROL(name) extern "C" void launch_##name(const Step* s) { shim::launch(name, s, 1, 64, 64 * sizeof(double), 1); }
CONTROL(exchange)
CONTROL(unset)
CONTROL(divergent)
CONTROL(barrier)
CONTROL(unset_shared)
CONTROL(no_barrier)
CONTROL(beyond_shared)
