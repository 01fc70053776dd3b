// control.hpp: auxiliary code of a step: sums that do not depend on the order of summation, and the sun.
constexpr double INFINITE = __builtin_huge_val();

extern "C" {
// ---- exact sums in any order, see core/exact_sum.py: several times (block, column) -> (column) ----------------------------------
void airshed_magnitudes(const double* values, int64_t several, int64_t count, int64_t columns, double* greatest) {
    for (int64_t n = 0; n < several; n++, values += count * columns, greatest += columns) {
        for (int64_t j = 0; j < columns; j++) greatest[j] = 0;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < columns; j++) {
                const double size = __builtin_fabs(values[i * columns + j]);
                greatest[j] = size <= greatest[j] ? greatest[j] : size == size ? size : INFINITE;
            }
    }
}

// 2^(40-e) with 2^e above the greatest magnitude; 1 for a column of zeros or with a value that is not finite.
static double exact_scale(double greatest) {
    if (!(greatest > 0) || greatest == INFINITE) return 1;
    int exponent;
    __builtin_frexp(greatest, &exponent);
    return __builtin_ldexp(1.0, 40 - (exponent > -850 ? exponent : -850));
}

// `greatest` [column] of all summands; `parts` [2][column].
void airshed_exact_parts(const double* values, int64_t several, int64_t count, int64_t columns, const double* greatest,
                         int64_t* parts) {
    double* const scale = new double[columns];
    for (int64_t n = 0; n < several; n++, values += count * columns, greatest += columns, parts += 2 * columns) {
        for (int64_t j = 0; j < columns; j++) scale[j] = exact_scale(greatest[j]);
        for (int64_t j = 0; j < 2 * columns; j++) parts[j] = 0;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < columns; j++) {
                const double x = values[i * columns + j] * scale[j], first = __builtin_trunc(x);
                parts[j] += (int64_t)first;
                parts[columns + j] += (int64_t)((x - first) * 0x1p40);
            }
    }
    delete[] scale;
}

// The sums [column] that the parts of all ranks [2][column] represent; NaN where a summand was not finite.
void airshed_exact_value(const int64_t* parts, const double* greatest, int64_t several, int64_t columns, double* sums) {
    for (int64_t n = 0; n < several; n++, parts += 2 * columns, greatest += columns, sums += columns)
        for (int64_t j = 0; j < columns; j++) {
            const double grid = 1 / exact_scale(greatest[j]);
            const double sum = (double)parts[j] * grid + (double)parts[columns + j] * (grid * 0x1p-40);
            sums[j] = greatest[j] == INFINITE ? __builtin_nan("") : sum;
        }
}

// ---- solar zenith angle and light of columns, see air/light.py ------------------------------------------------------------------
// `places` [block][3][W]: unit vectors to the zenith of each column. `directions` [time][3]: unit vectors to the sun. `cloud`: cloud
// cover at both ends of an interval [block][W], or null; `weights` [time]: weight of the second end at each time. `limits`: smallest
// cosine of the zenith angle, light under an overcast sky divided by that cosine, and the smallest cosine for this light.
// `sun` [time][block][2][W]: secant of the zenith angle, light factor (0 at night).
void airshed_sunlight(const double* places, const double* directions, const real* cloud, const real* later_cloud,
                      const double* weights, int64_t times, const double* limits, int64_t blocks, real* sun) {
    for (int64_t n = 0; n < times * blocks; n++) {
        const int64_t time = n / blocks, b = n % blocks;
        const double *direction = directions + 3 * time, weight = weights[time];
        const dpack* place = (const dpack*)(places + 3 * b * W);
        const dpack cosine = place[0] * direction[0] + place[1] * direction[1] + place[2] * direction[2];
        dpack light = dsplat(1.0);
        if (cloud) {
            const dpack first = to_double(*(const pack*)(cloud + b * W)), last = to_double(*(const pack*)(later_cloud + b * W));
            const dpack cover = vmax(dpack{}, vmin(dsplat(1.0), (1.0 - weight) * first + weight * last));
            light = 1.0 + cover * (limits[1] * vmax(cosine, dsplat(limits[2])) - 1.0);
        }
        pack* result = (pack*)(sun + 2 * n * W);
        result[0] = to_real(1.0 / vmax(cosine, dsplat(limits[0])));
        result[1] = to_real(cosine > 0.0 ? light : dpack{});
    }
}
}

extern "C" {
// Rate constants of every reaction in one pack of cells, for tests: the same functions as in the step.
void airshed_rates(const double* temperature, const double* density, const double* water, const double* secant,
                   const double* light, double oxygen, double nitrogen, const double* parameters, double* functions,
                   double* photolysis) {
    pack rate[RATES * NZ + 1], j[PHOTOLYSES + 1];
    const dpack sec = *(const dpack*)secant, lit = *(const dpack*)light;
    rate_functions(*(const dpack*)temperature, *(const dpack*)density, *(const dpack*)water, sec, lit, oxygen, nitrogen,
                   (const dpack*)parameters, rate, 0);
    photolysis_functions(sec, lit, j);
    for (int r = 0; r < RATES; r++)
        for (int i = 0; i < W; i++) functions[r * W + i] = rate[r * NZ][i];
    for (int p = 0; p < PHOTOLYSES; p++)
        for (int i = 0; i < W; i++) photolysis[p * W + i] = j[p][i];
}
}
