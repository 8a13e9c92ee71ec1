/* Lines along cols that compilers do not vectorise by themselves, one generator for float and double.
 *
 *   dst[j, c] = sum over t < width of weights[t, j] * src[relative[j] + t * inner + c]
 *
 * pixels:    3 or 4 elements a pixel, four lanes at a time. With 3, a load reads one element and a store writes one element
 *            of the next pixel: the caller leaves out the outputs where there is none.
 * periodic:  1 element a pixel, and a table that repeats: output j + period reads `advance` inputs further by the same
 *            weights, as for whole factors, their inverses and 3 / 2. Weights stay in registers, and steps are constants.
 *
 * Sums run from the first tap to the last, as everywhere, so the bits are those of the plain loops.
 */
#ifndef IMGOPS_LINES_H
#define IMGOPS_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_words.h"

#if defined(__GNUC__) || defined(__clang__)
#define IMGOPS_HAS_LANES 1
typedef float float_lanes __attribute__((vector_size(16)));
typedef double double_lanes __attribute__((vector_size(32)));
typedef int32_t float_bits_lanes __attribute__((vector_size(16)));
typedef int64_t double_bits_lanes __attribute__((vector_size(32)));

/* A tap of weight zero leaves the sum as it is: -0.0. */
#define IMGOPS_LANES(T, LANES, BITS, SIGN)                                                                           \
    IMGOPS_INLINE LANES T##_tap(const T *x, T weight, const int masked)                                              \
    {                                                                                                                \
        LANES value;                                                                                                 \
        memcpy(&value, x, sizeof value);                                                                             \
        value *= weight;                                                                                             \
        if (masked) {                                                                                                \
            const LANES weights = {weight, weight, weight, weight};                                                  \
            const BITS kept = (BITS)(weights != 0);                                                                  \
            const BITS sign = {SIGN, SIGN, SIGN, SIGN};                                                              \
            value = (LANES)(((BITS)value & kept) | (sign & ~kept));                                                  \
        }                                                                                                            \
        return value;                                                                                                \
    }                                                                                                                \
    IMGOPS_INLINE void T##_pixels_of(                                                                                \
        const T *src, const int32_t *relative, const T *weights, ptrdiff_t step, const ptrdiff_t width, T *dst,      \
        ptrdiff_t begin, ptrdiff_t end, const ptrdiff_t inner, const int masked)                                     \
    {                                                                                                                \
        for (ptrdiff_t j = begin; j < end; j++) {                                                                    \
            const T *x = src + relative[j];                                                                          \
            LANES sum = T##_tap(x, weights[j], masked);                                                              \
            for (ptrdiff_t t = 1; t < width; t++)                                                                    \
                sum += T##_tap(x + t * inner, weights[t * step + j], masked);                                        \
            memcpy(dst + j * inner, &sum, sizeof sum);                                                               \
        }                                                                                                            \
    }                                                                                                                \
    IMGOPS_INLINE void T##_pixels_by(                                                                                \
        const T *src, const int32_t *relative, const T *weights, ptrdiff_t step, ptrdiff_t width, T *dst,            \
        ptrdiff_t begin, ptrdiff_t end, const ptrdiff_t inner, const int masked)                                     \
    {                                                                                                                \
        if (width == 2) T##_pixels_of(src, relative, weights, step, 2, dst, begin, end, inner, masked);              \
        else if (width == 4) T##_pixels_of(src, relative, weights, step, 4, dst, begin, end, inner, masked);         \
        else T##_pixels_of(src, relative, weights, step, width, dst, begin, end, inner, masked);                     \
    }                                                                                                                \
    static inline void T##_pixels(                                                                                   \
        const T *src, const int32_t *relative, const T *weights, ptrdiff_t step, ptrdiff_t width, T *dst,            \
        ptrdiff_t begin, ptrdiff_t end, ptrdiff_t inner, int masked)                                                 \
    {                                                                                                                \
        if (inner == 3 && masked) T##_pixels_by(src, relative, weights, step, width, dst, begin, end, 3, 1);         \
        else if (inner == 3) T##_pixels_by(src, relative, weights, step, width, dst, begin, end, 3, 0);              \
        else if (masked) T##_pixels_by(src, relative, weights, step, width, dst, begin, end, 4, 1);                  \
        else T##_pixels_by(src, relative, weights, step, width, dst, begin, end, 4, 0);                              \
    }

IMGOPS_LANES(float, float_lanes, float_bits_lanes, INT32_MIN)
IMGOPS_LANES(double, double_lanes, double_bits_lanes, INT64_MIN)

#else
#define IMGOPS_HAS_LANES 0
#define float_pixels(src, relative, weights, step, width, dst, begin, end, inner, masked) ((void)0)
#define double_pixels(src, relative, weights, step, width, dst, begin, end, inner, masked) ((void)0)
#endif

#define IMGOPS_MAX_PERIOD 4
#define IMGOPS_CASE(T, WIDTH, PERIOD, ADVANCE)                                                                       \
    if (width == WIDTH && period == PERIOD && advance == ADVANCE)                                                    \
        return T##_periods(src, relative, weights, step, dst, begin, end, PERIOD, ADVANCE, WIDTH);
#define IMGOPS_PERIODIC(T)                                                                                           \
    IMGOPS_INLINE ptrdiff_t T##_periods(                                                                             \
        const T *src, const int32_t *relative, const T *weights, ptrdiff_t step, T *dst, ptrdiff_t begin,            \
        ptrdiff_t end, const ptrdiff_t period, const ptrdiff_t advance, const ptrdiff_t width)                       \
    {                                                                                                                \
        T w[IMGOPS_MAX_PERIOD * 8];                                                                                  \
        const T *x[IMGOPS_MAX_PERIOD];                                                                               \
        const ptrdiff_t count = (end - begin) / period;                                                              \
        if (count <= 0) return begin;                                                                                \
        for (ptrdiff_t k = 0; k < period; k++) {                                                                     \
            x[k] = src + relative[begin + k];                                                                        \
            for (ptrdiff_t t = 0; t < width; t++) w[k * width + t] = weights[t * step + begin + k];                  \
        }                                                                                                            \
        T *restrict y = dst + begin;                                                                                 \
        for (ptrdiff_t i = 0; i < count; i++) {                                                                      \
            for (ptrdiff_t k = 0; k < period; k++) {                                                                 \
                T sum = w[k * width] * x[k][i * advance];                                                            \
                for (ptrdiff_t t = 1; t < width; t++) sum += w[k * width + t] * x[k][i * advance + t];               \
                y[i * period + k] = sum;                                                                             \
            }                                                                                                        \
        }                                                                                                            \
        return begin + count * period;                                                                               \
    }                                                                                                                \
    /* Whole periods from `begin` on; returns the first output that is left to do. */                                \
    static inline ptrdiff_t T##_periodic(                                                                            \
        const T *src, const int32_t *relative, const T *weights, ptrdiff_t step, ptrdiff_t width, T *dst,            \
        ptrdiff_t begin, ptrdiff_t end, ptrdiff_t period, ptrdiff_t advance)                                         \
    {                                                                                                                \
        IMGOPS_CASE(T, 2, 2, 1)                                                                                      \
        IMGOPS_CASE(T, 2, 3, 1)                                                                                      \
        IMGOPS_CASE(T, 2, 4, 1)                                                                                      \
        IMGOPS_CASE(T, 2, 3, 2)                                                                                      \
        IMGOPS_CASE(T, 2, 1, 2)                                                                                      \
        IMGOPS_CASE(T, 2, 1, 3)                                                                                      \
        IMGOPS_CASE(T, 2, 1, 4)                                                                                      \
        IMGOPS_CASE(T, 4, 1, 2)                                                                                      \
        IMGOPS_CASE(T, 6, 1, 3)                                                                                      \
        IMGOPS_CASE(T, 8, 1, 4)                                                                                      \
        return begin;                                                                                                \
    }

IMGOPS_PERIODIC(float)
IMGOPS_PERIODIC(double)

#endif
