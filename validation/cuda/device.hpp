// device.hpp: definitions for kernels.hpp on a device.
#define DEVICE static __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
#define BOUNDED_KERNEL(name, threads, resident) extern "C" __global__ void __launch_bounds__(threads, resident ? resident : 1) name
#define APART static __device__ __noinline__
#define CONSTANTS(type) static __constant__ const type
#define TABLE static __device__ const int
#define SHARED(type, name) extern __shared__ type name[]

// 1/x of positive numbers: an estimate and Newton steps, accurate to about one unit in the last place.
DEVICE double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
}
DEVICE float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fmaf(y, fmaf(-x, y, 1.0f), y);
}
