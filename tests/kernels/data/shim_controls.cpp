// Kernels that the shim must run, or must not: see test_cuda.py.
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
extern "C" {
void launch_exchange(const Step* s) { shim::launch(exchange, s, 1, 64, 1); }
void launch_unset(const Step* s) { shim::launch(unset, s, 1, 64, 1); }
void launch_divergent(const Step* s) { shim::launch(divergent, s, 1, 64, 1); }
}
