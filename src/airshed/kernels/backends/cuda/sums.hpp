// sums.hpp: exact sums on a device, with the bits of control.hpp. A thread adds up one column of a range of summands. Atomic operations on
// integers combine the results of threads, independent of their order. Non-negative doubles have the order of their bits as integers.
constexpr int64_t RANGE = 64;              // summands of a thread

template <class Number> INLINE_MEMBER double greatest_of(const Number* values, int64_t count, int64_t columns) {
    double greatest = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(double(values[i * columns]));
        greatest = size <= greatest ? greatest : size == size ? size : __longlong_as_double(0x7ff0000000000000);
    }
    return greatest;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) airshed_exact_sums(const Summands* given) {
    const Summands& s = *given;
    const int64_t groups = (s.columns + 31) / 32, ranges = (s.count + RANGE - 1) / RANGE;
    const int64_t number = int64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32, n = number / (groups * ranges);
    const int64_t first = number / groups % ranges * RANGE, column = number % groups * 32 + threadIdx.x % 32;
    if (n >= s.several || column >= s.columns) return;
    const int64_t count = s.count - first < RANGE ? s.count - first : RANGE;
    const int64_t start = (n * s.count + first) * s.columns + column;
    const double* values = (const double*)s.values + start;
    uint64_t *result = s.result + 2 * n * s.columns + column, *second = result + s.columns;
    if (s.task == CLEAR) {
        *result = *second = 0;
    } else if (s.task == GREATEST || s.task == GREATEST_SINGLE) {
        const bool single = s.task == GREATEST_SINGLE;
        const double greatest =
            single ? greatest_of((const float*)s.values + start, count, s.columns) : greatest_of(values, count, s.columns);
        atomicMax(result, uint64_t(__double_as_longlong(greatest)));
    } else {
        const double scale = s.scale[n * s.columns + column];
        int64_t whole = 0, rest = 0;
        for (int64_t i = 0; i < count; i++) {
            const double x = values[i * s.columns] * scale, integer = trunc(x);
            whole += int64_t(integer);
            rest += int64_t((x - integer) * 0x1p40);
        }
        atomicAdd(result, uint64_t(whole));
        atomicAdd(second, uint64_t(rest));
    }
}
