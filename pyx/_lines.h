/* Lines that compilers do not vectorise by themselves, one generator per family for every accumulator.
 *
 * Along cols:  dst[j, c] = sum over t < width of weights[t, j] * src[relative[j] + t * inner + c]
 *
 * blocks:    any table and few elements a pixel, as many elements as a register holds at a time. Each block has the place of
 *            a window in src, each lane its place in the window, and a register of weights for every tap. Masked where weights
 *            may be zero; where all of an output's are, it is 0.
 * pixels:    3 or 4 elements a pixel, four lanes at a time. With 3, a load reads one element and a store writes one element
 *            of the next pixel: the caller leaves out the outputs where there is none.
 * periodic:  1 element a pixel, and a table that repeats: output j + period reads `advance` inputs further by the same
 *            weights, as for whole factors, their inverses and 3 / 2. Weights stay in registers, and steps are constants.
 * pairs:     1 to 4 bytes a pixel, and a table that halves: output j reads 2 or 4 pixels from pixel 2 * j on, by the same
 *            weights. Bytes of neighbouring pixels stand side by side for one instruction that multiplies and adds them.
 *
 * across:    any table, for as many rows at a time as a register has lanes.
 *
 * Along rows:  dst[i] = sum over k < count of weights[k] * rows[k][i]
 *
 * blend:     rows converted on the way in, or up to four rounded on the way out, or neither; for two outputs at once, too.
 *
 * Sums run from the first tap to the last, as everywhere, so the bits are those of the plain loops.
 */
#ifndef IMGOPS_LINES_H
#define IMGOPS_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_words.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define IMGOPS_FETCH(AT) __builtin_prefetch(AT)
#else
#define IMGOPS_FETCH(AT) ((void)(AT))
#endif

/* How far ahead blocks fetch, in bytes: processors stop at the end of a page. */
enum { IMGOPS_AHEAD = 2048 };

#if defined(__GNUC__) || defined(__clang__)
#define IMGOPS_HAS_LANES 1
typedef fixed fixed_lanes __attribute__((vector_size(8)));
typedef int16_t fixed_bits_lanes __attribute__((vector_size(8)));
typedef float float_lanes __attribute__((vector_size(16)));
typedef double double_lanes __attribute__((vector_size(32)));
typedef int32_t float_bits_lanes __attribute__((vector_size(16)));
typedef int64_t double_bits_lanes __attribute__((vector_size(32)));

/* A tap of weight zero leaves the sum as it is: -0.0, or 0 of an integer. */
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
IMGOPS_LANES(fixed, fixed_lanes, fixed_bits_lanes, 0)

#else
#define IMGOPS_HAS_LANES 0
#define float_pixels(src, relative, weights, step, width, dst, begin, end, inner, masked) ((void)0)
#define double_pixels(src, relative, weights, step, width, dst, begin, end, inner, masked) ((void)0)
#define fixed_pixels(src, relative, weights, step, width, dst, begin, end, inner, masked) ((void)0)
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
                T sum = (T)(w[k * width] * x[k][i * advance]);                                                       \
                for (ptrdiff_t t = 1; t < width; t++) sum = (T)(sum + w[k * width + t] * x[k][i * advance + t]);     \
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
IMGOPS_PERIODIC(fixed)

/* Registers of the blocks: LANES of T and the same number of indices into two registers. */
#if defined(__AVX512BW__)
typedef float float_block __attribute__((vector_size(64)));
typedef double double_block __attribute__((vector_size(64)));
typedef fixed fixed_block __attribute__((vector_size(64)));
typedef int32_t float_block_bits __attribute__((vector_size(64)));
typedef int64_t double_block_bits __attribute__((vector_size(64)));
typedef int16_t fixed_block_bits __attribute__((vector_size(64)));
typedef __m512i float_places, double_places, fixed_places;
IMGOPS_INLINE float_places float_window(const uint8_t *lanes)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)lanes));
}
IMGOPS_INLINE double_places double_window(const uint8_t *lanes)
{
    return _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)lanes));
}
IMGOPS_INLINE fixed_places fixed_window(const uint8_t *lanes)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)lanes));
}
IMGOPS_INLINE float_block float_chosen(float_block low, float_block high, float_places places)
{
    return (float_block)_mm512_permutex2var_ps((__m512)low, places, (__m512)high);
}
IMGOPS_INLINE double_block double_chosen(double_block low, double_block high, double_places places)
{
    return (double_block)_mm512_permutex2var_pd((__m512d)low, places, (__m512d)high);
}
IMGOPS_INLINE fixed_block fixed_chosen(fixed_block low, fixed_block high, fixed_places places)
{
    return (fixed_block)_mm512_permutex2var_epi16((__m512i)low, places, (__m512i)high);
}
IMGOPS_INLINE float_block float_chosen_low(float_block low, float_places places)
{
    return (float_block)_mm512_permutexvar_ps(places, (__m512)low);
}
IMGOPS_INLINE double_block double_chosen_low(double_block low, double_places places)
{
    return (double_block)_mm512_permutexvar_pd(places, (__m512d)low);
}
IMGOPS_INLINE fixed_block fixed_chosen_low(fixed_block low, fixed_places places)
{
    return (fixed_block)_mm512_permutexvar_epi16(places, (__m512i)low);
}
IMGOPS_INLINE float_places float_moved(float_places places, ptrdiff_t distance)
{
    return _mm512_add_epi32(places, _mm512_set1_epi32((int)distance));
}
IMGOPS_INLINE double_places double_moved(double_places places, ptrdiff_t distance)
{
    return _mm512_add_epi64(places, _mm512_set1_epi64(distance));
}
IMGOPS_INLINE fixed_places fixed_moved(fixed_places places, ptrdiff_t distance)
{
    return _mm512_add_epi16(places, _mm512_set1_epi16((short)distance));
}
enum { float_lanes_of_block = 16, double_lanes_of_block = 8, fixed_lanes_of_block = 32 };
#elif defined(__AVX2__)
typedef float float_block __attribute__((vector_size(32)));
typedef fixed fixed_block __attribute__((vector_size(16)));
typedef int32_t float_block_bits __attribute__((vector_size(32)));
typedef int16_t fixed_block_bits __attribute__((vector_size(16)));
typedef __m256i float_places;
typedef struct { __m128i low, high; } fixed_places;
IMGOPS_INLINE float_places float_window(const uint8_t *lanes)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)lanes));
}
IMGOPS_INLINE float_block float_chosen(float_block low, float_block high, float_places places)
{
    /* A permutation looks at the lowest three bits; the fourth tells the register. */
    const __m256 from_low = _mm256_permutevar8x32_ps((__m256)low, places);
    const __m256 from_high = _mm256_permutevar8x32_ps((__m256)high, places);
    return (float_block)_mm256_blendv_ps(from_low, from_high, _mm256_castsi256_ps(_mm256_slli_epi32(places, 28)));
}
IMGOPS_INLINE fixed_places fixed_window(const uint8_t *lanes)
{
    /* Places of both bytes of a lane. A byte shuffle gives 0 where the highest bit is set: beyond its own register. */
    const __m128i places = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)lanes));
    const __m128i bytes = _mm_add_epi16(_mm_mullo_epi16(places, _mm_set1_epi16(0x0202)), _mm_set1_epi16(0x0100));
    const fixed_places both = {_mm_add_epi8(bytes, _mm_set1_epi8(0x70)), _mm_sub_epi8(bytes, _mm_set1_epi8(0x10))};
    return both;
}
IMGOPS_INLINE fixed_block fixed_chosen(fixed_block low, fixed_block high, fixed_places places)
{
    return (fixed_block)_mm_or_si128(
        _mm_shuffle_epi8((__m128i)low, places.low), _mm_shuffle_epi8((__m128i)high, places.high));
}
IMGOPS_INLINE float_block float_chosen_low(float_block low, float_places places)
{
    return (float_block)_mm256_permutevar8x32_ps((__m256)low, places);
}
IMGOPS_INLINE fixed_block fixed_chosen_low(fixed_block low, fixed_places places)
{
    return (fixed_block)_mm_shuffle_epi8((__m128i)low, places.low);
}
IMGOPS_INLINE float_places float_moved(float_places places, ptrdiff_t distance)
{
    return _mm256_add_epi32(places, _mm256_set1_epi32((int)distance));
}
IMGOPS_INLINE fixed_places fixed_moved(fixed_places places, ptrdiff_t distance)
{
    const __m128i bytes = _mm_set1_epi8((char)(2 * distance));
    const fixed_places both = {_mm_add_epi8(places.low, bytes), _mm_add_epi8(places.high, bytes)};
    return both;
}
enum { float_lanes_of_block = 8, double_lanes_of_block = 0, fixed_lanes_of_block = 8 };
#else
enum { float_lanes_of_block = 0, double_lanes_of_block = 0, fixed_lanes_of_block = 0 };
#endif

/* Windows of one register or two that hold all taps, or of two for each tap, t * inner further on. */
enum { ONE_WINDOW, WIDE_WINDOW, WINDOW_PER_TAP };

/* `count` blocks from the element `begin` on, at multiples of a register, but none before `begin` or after `last`. */
#define IMGOPS_BLOCKS(T, SIGN)                                                                                       \
    IMGOPS_INLINE void T##_blocks_of(                                                                                \
        const T *src, const int32_t *windows, const uint8_t *lanes, const T *weights, const ptrdiff_t width,         \
        ptrdiff_t inner, T *dst, ptrdiff_t begin, ptrdiff_t last, ptrdiff_t count, const int window, const int masked)\
    {                                                                                                                \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        for (ptrdiff_t block = 0; block < count; block++) {                                                          \
            const ptrdiff_t aligned = (begin / size + block) * size;                                                 \
            const ptrdiff_t at = aligned < begin ? begin : aligned < last ? aligned : last;                          \
            const T *x = src + windows[block];                                                                       \
            IMGOPS_FETCH((const char *)x + IMGOPS_AHEAD);                                                            \
            T##_places places = T##_window(lanes + block * size);                                                    \
            T##_block low, high, weight, sum = {0};                                                                  \
            T##_block_bits read = {0};                                                                               \
            for (ptrdiff_t t = 0; t < width; t++) {                                                                  \
                if (!t || window == WINDOW_PER_TAP) {                                                                \
                    memcpy(&low, x + t * inner, sizeof low);                                                         \
                    if (window != ONE_WINDOW) memcpy(&high, x + t * inner + size, sizeof high);                      \
                }                                                                                                    \
                else places = T##_moved(places, inner);                                                              \
                memcpy(&weight, weights + (block * width + t) * size, sizeof weight);                                \
                T##_block product = weight * (                                                                       \
                    window == ONE_WINDOW ? T##_chosen_low(low, places) : T##_chosen(low, high, places));             \
                if (masked) {                                                                                        \
                    const T##_block_bits kept = (T##_block_bits)(weight != 0);                                       \
                    product = (T##_block)(((T##_block_bits)product & kept) | (~kept & SIGN));                        \
                    read |= kept;                                                                                    \
                }                                                                                                    \
                sum = t ? sum + product : product;                                                                   \
            }                                                                                                        \
            if (masked) sum = (T##_block)((T##_block_bits)sum & read);                                               \
            memcpy(dst + at, &sum, sizeof sum);                                                                      \
        }                                                                                                            \
    }                                                                                                                \
    IMGOPS_INLINE void T##_blocks_by(                                                                                \
        const T *src, const int32_t *windows, const uint8_t *lanes, const T *weights, ptrdiff_t width, ptrdiff_t inner,\
        T *dst, ptrdiff_t begin, ptrdiff_t last, ptrdiff_t count, const int window, int masked)                      \
    {                                                                                                                \
        if (masked && width == 1)                                                                                    \
            T##_blocks_of(src, windows, lanes, weights, 1, inner, dst, begin, last, count, window, 1);               \
        else if (masked && width == 2)                                                                               \
            T##_blocks_of(src, windows, lanes, weights, 2, inner, dst, begin, last, count, window, 1);               \
        else if (masked)                                                                                             \
            T##_blocks_of(src, windows, lanes, weights, width, inner, dst, begin, last, count, window, 1);           \
        else if (width == 2)                                                                                         \
            T##_blocks_of(src, windows, lanes, weights, 2, inner, dst, begin, last, count, window, 0);               \
        else if (width == 3)                                                                                         \
            T##_blocks_of(src, windows, lanes, weights, 3, inner, dst, begin, last, count, window, 0);               \
        else if (width == 4)                                                                                         \
            T##_blocks_of(src, windows, lanes, weights, 4, inner, dst, begin, last, count, window, 0);               \
        else                                                                                                         \
            T##_blocks_of(src, windows, lanes, weights, width, inner, dst, begin, last, count, window, 0);           \
    }                                                                                                                \
    static inline void T##_blocks(                                                                                   \
        const T *src, const int32_t *windows, const uint8_t *lanes, const T *weights, ptrdiff_t width, ptrdiff_t inner,\
        T *dst, ptrdiff_t begin, ptrdiff_t last, ptrdiff_t count, int window, int masked)                            \
    {                                                                                                                \
        if (window == ONE_WINDOW)                                                                                    \
            T##_blocks_by(src, windows, lanes, weights, width, inner, dst, begin, last, count, ONE_WINDOW, masked);  \
        else if (window == WIDE_WINDOW)                                                                              \
            T##_blocks_by(src, windows, lanes, weights, width, inner, dst, begin, last, count, WIDE_WINDOW, masked); \
        else                                                                                                         \
            T##_blocks_by(src, windows, lanes, weights, width, inner, dst, begin, last, count, WINDOW_PER_TAP, masked);\
    }
#define IMGOPS_NO_BLOCKS(T)                                                                                          \
    static inline void T##_blocks(                                                                                   \
        const T *src, const int32_t *windows, const uint8_t *lanes, const T *weights, ptrdiff_t width, ptrdiff_t inner,\
        T *dst, ptrdiff_t begin, ptrdiff_t last, ptrdiff_t count, int window, int masked)                            \
    {                                                                                                                \
        (void)src, (void)windows, (void)lanes, (void)weights, (void)width, (void)inner, (void)dst, (void)begin;      \
        (void)last, (void)count, (void)window, (void)masked;                                                         \
    }

#if defined(__AVX512BW__)
IMGOPS_BLOCKS(float, INT32_MIN)
IMGOPS_BLOCKS(double, INT64_MIN)
IMGOPS_BLOCKS(fixed, 0)
#elif defined(__AVX2__)
IMGOPS_BLOCKS(float, INT32_MIN)
IMGOPS_BLOCKS(fixed, 0)
IMGOPS_NO_BLOCKS(double)
#else
IMGOPS_NO_BLOCKS(float)
IMGOPS_NO_BLOCKS(double)
IMGOPS_NO_BLOCKS(fixed)
#endif

/* Across: as many rows as a register has lanes, a lane for each, so that an element of all rows is a register and no element
 * is shuffled to its tap. Rows are turned into such registers and back by blocks of as many elements. */
#define IMGOPS_ACROSS(T)                                                                                             \
    IMGOPS_INLINE void T##_turn(const T *src, ptrdiff_t src_step, T *dst, ptrdiff_t dst_step)                        \
    {                                                                                                                \
        enum { size = T##_lanes_of_block };                                                                          \
        T##_block x[size], y[size];                                                                                  \
        IMGOPS_UNROLL for (int i = 0; i < size; i++) memcpy(&x[i], src + i * src_step, sizeof x[i]);                 \
        IMGOPS_UNROLL for (int distance = 1; distance < size; distance *= 2) {                                       \
            IMGOPS_UNROLL for (int i = 0; i < size / 2; i++) {                                                       \
                y[2 * i] = T##_low_halves(x[i], x[i + size / 2]);                                                    \
                y[2 * i + 1] = T##_high_halves(x[i], x[i + size / 2]);                                               \
            }                                                                                                        \
            IMGOPS_UNROLL for (int i = 0; i < size; i++) x[i] = y[i];                                                \
        }                                                                                                            \
        IMGOPS_UNROLL for (int i = 0; i < size; i++) memcpy(dst + i * dst_step, &x[i], sizeof x[i]);                 \
    }                                                                                                                \
    static void T##_turn_rows(const T *rows, ptrdiff_t step, ptrdiff_t length, T *across)                            \
    {                                                                                                                \
        for (ptrdiff_t i = 0; i < length; i += T##_lanes_of_block)                                                   \
            T##_turn(rows + i, step, across + i * T##_lanes_of_block, T##_lanes_of_block);                           \
    }                                                                                                                \
    static void T##_turn_back(const T *across, T *rows, ptrdiff_t step, ptrdiff_t length)                            \
    {                                                                                                                \
        for (ptrdiff_t i = 0; i < length; i += T##_lanes_of_block)                                                   \
            T##_turn(across + i * T##_lanes_of_block, T##_lanes_of_block, rows + i, step);                           \
    }                                                                                                                \
    /* `count` taps for `part` elements of a pixel; inner, but for the last part of many. */                         \
    IMGOPS_INLINE void T##_across_pixel(                                                                             \
        const T *x, const T *weights, ptrdiff_t count, T *dst, ptrdiff_t inner, const int part)                      \
    {                                                                                                                \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        T##_block sum[4];                                                                                            \
        /* -0.0 leaves every sum as it is. */                                                                        \
        IMGOPS_UNROLL for (int c = 0; c < part; c++) sum[c] = count ? -(T##_block){0} : (T##_block){0};              \
        for (ptrdiff_t t = 0; t < count; t++, x += inner * size) {                                                   \
            if (weights[t] == 0) continue;                                                                           \
            IMGOPS_UNROLL for (int c = 0; c < part; c++) sum[c] += weights[t] * *(const T##_block *)(x + c * size);  \
        }                                                                                                            \
        IMGOPS_UNROLL for (int c = 0; c < part; c++) memcpy(dst + c * size, &sum[c], sizeof sum[c]);                 \
    }                                                                                                                \
    IMGOPS_INLINE void T##_across_of(                                                                                \
        const T *src, ptrdiff_t first, const int64_t *starts, const int64_t *counts, const int64_t *offsets,         \
        const T *weights, T *dst, ptrdiff_t begin, ptrdiff_t end, const ptrdiff_t inner)                             \
    {                                                                                                                \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        for (ptrdiff_t j = begin; j < end; j++) {                                                                    \
            const T *x = src + (counts[j] ? starts[j] * inner - first : 0) * size, *w = weights + offsets[j];        \
            for (ptrdiff_t c = 0; c < inner; c += 4, x += 4 * size, dst += 4 * size) {                               \
                if (inner - c >= 4) T##_across_pixel(x, w, counts[j], dst, inner, 4);                                \
                else if (inner - c == 3) T##_across_pixel(x, w, counts[j], dst, inner, 3);                           \
                else if (inner - c == 2) T##_across_pixel(x, w, counts[j], dst, inner, 2);                           \
                else T##_across_pixel(x, w, counts[j], dst, inner, 1);                                               \
            }                                                                                                        \
            dst -= (inner + 3) / 4 * 4 * size - inner * size;                                                        \
        }                                                                                                            \
    }                                                                                                                \
    /* Outputs begin..end of the table from `src`, which begins with the element `first`. */                           \
    static inline void T##_across(                                                                                   \
        const T *src, ptrdiff_t first, const int64_t *starts, const int64_t *counts, const int64_t *offsets,         \
        const T *weights, T *dst, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t inner)                                   \
    {                                                                                                                \
        if (inner == 1) T##_across_of(src, first, starts, counts, offsets, weights, dst, begin, end, 1);             \
        else if (inner == 3) T##_across_of(src, first, starts, counts, offsets, weights, dst, begin, end, 3);        \
        else if (inner == 4) T##_across_of(src, first, starts, counts, offsets, weights, dst, begin, end, 4);        \
        else T##_across_of(src, first, starts, counts, offsets, weights, dst, begin, end, inner);                    \
    }
#define IMGOPS_NO_ACROSS(T)                                                                                          \
    static inline void T##_turn_rows(const T *rows, ptrdiff_t step, ptrdiff_t length, T *across)                     \
    {                                                                                                                \
        (void)rows, (void)step, (void)length, (void)across;                                                          \
    }                                                                                                                \
    static inline void T##_turn_back(const T *across, T *rows, ptrdiff_t step, ptrdiff_t length)                     \
    {                                                                                                                \
        (void)across, (void)rows, (void)step, (void)length;                                                          \
    }                                                                                                                \
    static inline void T##_across(                                                                                   \
        const T *src, ptrdiff_t first, const int64_t *starts, const int64_t *counts, const int64_t *offsets,         \
        const T *weights, T *dst, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t inner)                                   \
    {                                                                                                                \
        (void)src, (void)first, (void)starts, (void)counts, (void)offsets, (void)weights, (void)dst, (void)begin;    \
        (void)end, (void)inner;                                                                                      \
    }

/* Lanes of the lower, or the higher, halves of two registers in turn. */
#if defined(__AVX512BW__)
IMGOPS_INLINE float_block float_low_halves(float_block a, float_block b)
{
    return float_chosen(a, b, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
}
IMGOPS_INLINE float_block float_high_halves(float_block a, float_block b)
{
    return float_chosen(a, b, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
}
IMGOPS_INLINE double_block double_low_halves(double_block a, double_block b)
{
    return double_chosen(a, b, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11));
}
IMGOPS_INLINE double_block double_high_halves(double_block a, double_block b)
{
    return double_chosen(a, b, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15));
}
IMGOPS_ACROSS(float)
IMGOPS_ACROSS(double)
#elif defined(__AVX2__)
IMGOPS_INLINE float_block float_low_halves(float_block a, float_block b)
{
    return (float_block)_mm256_permute2f128_ps(
        _mm256_unpacklo_ps((__m256)a, (__m256)b), _mm256_unpackhi_ps((__m256)a, (__m256)b), 0x20);
}
IMGOPS_INLINE float_block float_high_halves(float_block a, float_block b)
{
    return (float_block)_mm256_permute2f128_ps(
        _mm256_unpacklo_ps((__m256)a, (__m256)b), _mm256_unpackhi_ps((__m256)a, (__m256)b), 0x31);
}
IMGOPS_ACROSS(float)
IMGOPS_NO_ACROSS(double)
#else
IMGOPS_NO_ACROSS(float)
IMGOPS_NO_ACROSS(double)
#endif

/* dst[i] = FINISH(weighted sum of `count` of 4 rows), of accumulator T, on top of what is in dst if `more`. */
#define IMGOPS_BLEND(NAME, T, SOURCE, TARGET, FINISH)                                                                \
    IMGOPS_INLINE void NAME##_of(                                                                                    \
        const SOURCE *a, const SOURCE *b, const SOURCE *c, const SOURCE *d, const T *weights, const int count,       \
        TARGET *restrict dst, ptrdiff_t length, const int more, fixed bias)                                              \
    {                                                                                                                \
        const T wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];                                  \
        for (ptrdiff_t i = 0; i < length; i++) {                                                                     \
            T sum = more ? (T)((T)dst[i] + wa * (T)a[i]) : (T)(wa * (T)a[i]);                                        \
            if (count > 1) sum = (T)(sum + wb * (T)b[i]);                                                            \
            if (count > 2) sum = (T)(sum + wc * (T)c[i]);                                                            \
            if (count > 3) sum = (T)(sum + wd * (T)d[i]);                                                            \
            dst[i] = FINISH(sum);                                                                                    \
        }                                                                                                            \
        (void)bias;                                                                                                  \
    }                                                                                                                \
    IMGOPS_INLINE void NAME##_by(                                                                                    \
        const SOURCE *const *rows, const T *weights, int count, TARGET *dst, ptrdiff_t length, const int more,       \
        fixed bias)                                                                                                  \
    {                                                                                                                \
        const SOURCE *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];                                         \
        if (count == 1) NAME##_of(a, a, a, a, weights, 1, dst, length, more, bias);                                  \
        else if (count == 2) NAME##_of(a, b, b, b, weights, 2, dst, length, more, bias);                             \
        else if (count == 3) NAME##_of(a, b, c, c, weights, 3, dst, length, more, bias);                             \
        else NAME##_of(a, b, c, d, weights, 4, dst, length, more, bias);                                             \
    }
/* Sums that stay sums. */
#define IMGOPS_AS_IT_IS(sum) (sum)
#define IMGOPS_BLEND_SUMS(NAME, T, SOURCE, MANY)                                                                     \
    IMGOPS_BLEND(NAME, T, SOURCE, T, IMGOPS_AS_IT_IS)                                                                \
    MANY(NAME, T, SOURCE)                                                                                            \
    static inline void NAME(                                                                                         \
        const void *const *rows, const T *weights, int count, T *dst, ptrdiff_t length, int more)                    \
    {                                                                                                                \
        const ptrdiff_t done = count > 4 ? NAME##_many((const SOURCE *const *)rows, weights, count, dst, length, more) : 0;\
        if (done == length) return;                                                                                  \
        for (int k = 0; k < count; k += 4) {                                                                         \
            const int left = count - k < 4 ? count - k : 4;                                                          \
            const SOURCE *four[4];                                                                                   \
            for (int i = 0; i < 4; i++) four[i] = (const SOURCE *)rows[k + (i < left ? i : left - 1)] + done;        \
            if (more || k) NAME##_by(four, weights + k, left, dst + done, length - done, 1, 0);                      \
            else NAME##_by(four, weights, left, dst + done, length - done, 0, 0);                                    \
        }                                                                                                            \
    }
/* Two sums of neighbouring rows, so that what both read is converted once: `dst` from the row `from` on, on top of what is there
 * if `more`, and `next` from the row `next_from` on; one of them is 0. */
#define IMGOPS_NO_MANY(NAME, T, SOURCE)                                                                              \
    IMGOPS_INLINE ptrdiff_t NAME##_many(                                                                             \
        const SOURCE *const *rows, const T *weights, int count, T *dst, ptrdiff_t length, int more)                  \
    {                                                                                                                \
        (void)rows, (void)weights, (void)count, (void)dst, (void)length, (void)more;                                 \
        return 0;                                                                                                    \
    }                                                                                                                \
    static inline void NAME##_two(                                                                                   \
        const void *const *rows, int count, const T *weights, int from, T *dst, int more, const T *next_weights,     \
        int next_from, T *next, ptrdiff_t length)                                                                    \
    {                                                                                                                \
        (void)rows, (void)count, (void)weights, (void)from, (void)dst, (void)more, (void)next_weights;               \
        (void)next_from, (void)next, (void)length;                                                                   \
    }
/* Whole registers, some at a time, whose sums stay in them from the first row to the last. */
#define IMGOPS_MANY(NAME, T, SOURCE)                                                                                 \
    IMGOPS_INLINE void NAME##_registers(                                                                             \
        const SOURCE *const *rows, int count, const T *weights, int from, T *dst, int more, const T *next_weights,   \
        int next_from, T *next, ptrdiff_t at, const int registers, const int two)                                    \
    {                                                                                                                \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        T##_block sum[4], next_sum[4];                                                                               \
        /* -0.0 leaves every sum as it is. */                                                                        \
        IMGOPS_UNROLL for (int r = 0; r < registers; r++) sum[r] = next_sum[r] = -(T##_block){0};                    \
        if (more) IMGOPS_UNROLL for (int r = 0; r < registers; r++) memcpy(&sum[r], dst + at + r * size, sizeof sum[r]);  \
        int k = 0;                                                                                                   \
        if (two) {                                                                                                   \
            for (; k < next_from; k++)                                                                               \
                IMGOPS_UNROLL for (int r = 0; r < registers; r++)                                                    \
                    sum[r] += weights[k] * T##_of_##SOURCE(rows[k] + at + r * size);                                 \
            for (; k < from; k++)                                                                                    \
                IMGOPS_UNROLL for (int r = 0; r < registers; r++)                                                    \
                    next_sum[r] += next_weights[k] * T##_of_##SOURCE(rows[k] + at + r * size);                       \
        }                                                                                                            \
        for (; k < count; k++)                                                                                       \
            IMGOPS_UNROLL for (int r = 0; r < registers; r++) {                                                      \
                const T##_block x = T##_of_##SOURCE(rows[k] + at + r * size);                                        \
                sum[r] += weights[k] * x;                                                                            \
                if (two) next_sum[r] += next_weights[k] * x;                                                         \
            }                                                                                                        \
        IMGOPS_UNROLL for (int r = 0; r < registers; r++) {                                                          \
            memcpy(dst + at + r * size, &sum[r], sizeof sum[r]);                                                     \
            if (two) memcpy(next + at + r * size, &next_sum[r], sizeof next_sum[r]);                                 \
        }                                                                                                            \
    }                                                                                                                \
    /* How many elements were done. */                                                                               \
    IMGOPS_INLINE ptrdiff_t NAME##_many(                                                                             \
        const SOURCE *const *rows, const T *weights, int count, T *dst, ptrdiff_t length, int more)                  \
    {                                                                                                                \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        ptrdiff_t i = 0;                                                                                             \
        for (; i + 4 * size <= length; i += 4 * size)                                                                \
            NAME##_registers(rows, count, weights, 0, dst, more, NULL, 0, NULL, i, 4, 0);                            \
        return i;                                                                                                    \
    }                                                                                                                \
    static inline void NAME##_two(                                                                                   \
        const void *const *any_rows, int count, const T *weights, int from, T *dst, int more, const T *next_weights, \
        int next_from, T *next, ptrdiff_t length)                                                                    \
    {                                                                                                                \
        const SOURCE *const *rows = (const SOURCE *const *)any_rows;                                                 \
        const ptrdiff_t size = T##_lanes_of_block;                                                                   \
        ptrdiff_t i = 0;                                                                                             \
        for (; i + 4 * size <= length; i += 4 * size)                                                                \
            NAME##_registers(rows, count, weights, from, dst, more, next_weights, next_from, next, i, 4, 1);         \
        for (; i + size <= length; i += size)                                                                        \
            NAME##_registers(rows, count, weights, from, dst, more, next_weights, next_from, next, i, 1, 1);         \
        for (; i < length; i++) {                                                                                    \
            T sum = more ? dst[i] : (T)-0.0, next_sum = (T)-0.0;                                                     \
            for (int k = from; k < count; k++) sum += weights[k] * rows[k][i];                                       \
            for (int k = next_from; k < count; k++) next_sum += next_weights[k] * rows[k][i];                        \
            dst[i] = sum, next[i] = next_sum;                                                                        \
        }                                                                                                            \
    }
#if defined(__AVX512BW__)
#define IMGOPS_MANY_FLOAT IMGOPS_MANY
#define IMGOPS_MANY_DOUBLE IMGOPS_MANY
#define IMGOPS_LOADED(SOURCE, WIDER)                                                                                 \
    IMGOPS_INLINE float_block float_of_##SOURCE(const SOURCE *x) { return (float_block)_mm512_cvtepi32_ps(WIDER); }
IMGOPS_LOADED(word8, _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)x)))
IMGOPS_LOADED(any_int8, _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)x)))
IMGOPS_LOADED(word16, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)))
IMGOPS_LOADED(any_int16, _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)x)))
IMGOPS_INLINE double_block double_of_double(const double *x) { return (double_block)_mm512_loadu_pd(x); }
IMGOPS_INLINE float_block float_of_float(const float *x) { return (float_block)_mm512_loadu_ps(x); }
#elif defined(__AVX2__)
#define IMGOPS_MANY_FLOAT IMGOPS_MANY
#define IMGOPS_MANY_DOUBLE IMGOPS_NO_MANY
#define IMGOPS_LOADED(SOURCE, WIDER)                                                                                 \
    IMGOPS_INLINE float_block float_of_##SOURCE(const SOURCE *x) { return (float_block)_mm256_cvtepi32_ps(WIDER); }
IMGOPS_LOADED(word8, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)x)))
IMGOPS_LOADED(any_int8, _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)x)))
IMGOPS_LOADED(word16, _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x)))
IMGOPS_LOADED(any_int16, _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)x)))
IMGOPS_INLINE float_block float_of_float(const float *x) { return (float_block)_mm256_loadu_ps(x); }
#else
#define IMGOPS_MANY_FLOAT IMGOPS_NO_MANY
#define IMGOPS_MANY_DOUBLE IMGOPS_NO_MANY
#endif
/* Integers whose sums cannot leave their range. A float with this number added has the integer, rounded half to even, in its
 * lowest bits. A fixed sum has FIXED_BITS bits behind the point; `bias`, 0 or 128 << FIXED_BITS, makes it positive. */
enum { FIXED_BITS = 8 };
#define IMGOPS_LOW_BITS(sum) float_bits((sum) + 12582912.0f)
#define IMGOPS_HALF_EVEN(sum) fixed_rounded(sum, bias)
IMGOPS_INLINE word8 fixed_rounded(fixed sum, fixed bias)
{
    const fixed positive = (fixed)(sum + bias);
    const fixed odd = (fixed)((fixed)(positive >> FIXED_BITS) & 1);
    return (word8)((fixed)((fixed)(positive + 127 + odd) >> FIXED_BITS) - (fixed)(bias >> FIXED_BITS));
}
#define IMGOPS_BLEND_INTEGERS(NAME, T, TARGET, FINISH)                                                               \
    IMGOPS_BLEND(NAME, T, T, TARGET, (TARGET)FINISH)                                                                 \
    static inline void NAME(                                                                                         \
        const void *const *rows, const T *weights, int count, TARGET *dst, ptrdiff_t length, fixed bias)             \
    {                                                                                                                \
        NAME##_by((const T *const *)rows, weights, count, dst, length, 0, bias);                                     \
    }

IMGOPS_BLEND_SUMS(float_blend, float, float, IMGOPS_MANY_FLOAT)
IMGOPS_BLEND_SUMS(float_blend_word8, float, word8, IMGOPS_MANY_FLOAT)
IMGOPS_BLEND_SUMS(float_blend_int8, float, any_int8, IMGOPS_MANY_FLOAT)
IMGOPS_BLEND_SUMS(float_blend_word16, float, word16, IMGOPS_MANY_FLOAT)
IMGOPS_BLEND_SUMS(float_blend_int16, float, any_int16, IMGOPS_MANY_FLOAT)
IMGOPS_BLEND_SUMS(double_blend, double, double, IMGOPS_MANY_DOUBLE)
IMGOPS_BLEND_SUMS(fixed_blend, fixed, fixed, IMGOPS_NO_MANY)
IMGOPS_BLEND_SUMS(fixed_blend_word8, fixed, word8, IMGOPS_NO_MANY)
IMGOPS_BLEND_SUMS(fixed_blend_int8, fixed, any_int8, IMGOPS_NO_MANY)
IMGOPS_BLEND_INTEGERS(float_blend_to_word8, float, word8, IMGOPS_LOW_BITS)
IMGOPS_BLEND_INTEGERS(float_blend_to_word16, float, word16, IMGOPS_LOW_BITS)
IMGOPS_BLEND_INTEGERS(fixed_blend_to_word8, fixed, word8, IMGOPS_HALF_EVEN)

/* Pairs: a register of bytes becomes one of half as many sums, in parts of 16 bytes and 8 sums; with 3 elements a pixel, of
 * 12 and 6. What the parts have in the end is packed, so that nothing is read or written beyond a row. */
#if defined(__AVX512BW__)
#define IMGOPS_WIDE(NAME) _mm512_##NAME
typedef __m512i pairs_bits;
typedef fixed pairs_sums __attribute__((vector_size(64)));
enum { pairs_lanes = 32 };
IMGOPS_INLINE __m512i pairs_order(__m128i places) { return _mm512_broadcast_i32x4(places); }
IMGOPS_INLINE __m512i pairs_spread(const word8 *x)
{
    const __m512i places = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    return _mm512_permutexvar_epi32(places, _mm512_maskz_loadu_epi32(0x0fff, x));
}
IMGOPS_INLINE __m512i pairs_packed(__m512i sums)
{
    const __m512i places = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    return _mm512_permutexvar_epi32(places, sums);
}
IMGOPS_INLINE void pairs_keep(fixed *dst, __m512i sums, const int part)
{
    _mm512_mask_storeu_epi32(dst, part ? 0x0fff : 0xffff, sums);
}
IMGOPS_INLINE void pairs_store(word8 *dst, __m512i means, const int part)
{
    _mm256_mask_storeu_epi32(dst, part ? 0x3f : 0xff, _mm512_cvtepi16_epi8(means));
}
#elif defined(__AVX2__)
#define IMGOPS_WIDE(NAME) _mm256_##NAME
typedef __m256i pairs_bits;
typedef fixed pairs_sums __attribute__((vector_size(32)));
enum { pairs_lanes = 16 };
IMGOPS_INLINE __m256i pairs_order(__m128i places) { return _mm256_broadcastsi128_si256(places); }
IMGOPS_INLINE __m256i pairs_spread(const word8 *x)
{
    const __m256i six = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5);
    return _mm256_permutevar8x32_epi32(_mm256_maskload_epi32((const int *)x, six), places);
}
IMGOPS_INLINE __m256i pairs_packed(__m256i sums)
{
    return _mm256_permutevar8x32_epi32(sums, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
}
IMGOPS_INLINE void pairs_keep(fixed *dst, __m256i sums, const int part)
{
    if (part) _mm256_maskstore_epi32((int *)dst, _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0), sums);
    else memcpy(dst, &sums, sizeof sums);
}
IMGOPS_INLINE void pairs_store(word8 *dst, __m256i means, const int part)
{
    const __m256i low = _mm256_and_si256(means, _mm256_set1_epi16(255));
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    memcpy(dst, &bytes, part ? 12 : 16);
}
#else
enum { pairs_lanes = 0 };
#endif

#if defined(__AVX2__)
/* Products of the pixels at x and behind it with their weights in every pair of bytes of `weights`, added. */
IMGOPS_INLINE pairs_bits pairs_products(const word8 *x, pairs_bits weights, const ptrdiff_t inner, const int is_signed)
{
    pairs_bits bytes;
    if (inner == 3) bytes = pairs_spread(x);
    else memcpy(&bytes, x, sizeof bytes);
    if (inner > 1) {
        const __m128i places = inner == 2 ? _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15)
                             : inner == 3 ? _mm_setr_epi8(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, -1, -1, -1, -1)
                                          : _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
        bytes = IMGOPS_WIDE(shuffle_epi8)(bytes, pairs_order(places));
    }
    /* The first operand is taken as unsigned, the second as signed; weights are less than 128. */
    return is_signed ? IMGOPS_WIDE(maddubs_epi16)(weights, bytes) : IMGOPS_WIDE(maddubs_epi16)(bytes, weights);
}

/* The sums of one row, or where there are two of them, whose weights are the same, those of both, rounded into `means`. What is
 * `ahead` bytes further on is fetched: the rows that come next. */
IMGOPS_INLINE void pairs_of(
    const word8 *a, const word8 *b, const fixed *weights, fixed *sums, word8 *means, ptrdiff_t length, ptrdiff_t ahead,
    fixed bias, const ptrdiff_t width, const ptrdiff_t inner, const int is_signed)
{
    const ptrdiff_t step = inner == 3 ? pairs_lanes / 4 * 3 : pairs_lanes;
    const pairs_bits first = IMGOPS_WIDE(set1_epi16)((short)(weights[0] | weights[1] << 8));
    const pairs_bits second = IMGOPS_WIDE(set1_epi16)((short)(weights[2] | weights[3] << 8));
    for (ptrdiff_t next = 0; next < length; next += step) {
        const ptrdiff_t i = next + step <= length ? next : length - step;
        pairs_bits sum = pairs_products(a + 2 * i, first, inner, is_signed);
        /* Processors see no further than the row. */
        IMGOPS_FETCH(a + ahead + 2 * i);
        if (b) IMGOPS_FETCH(b + ahead + 2 * i);
        if (width == 4)
            sum = IMGOPS_WIDE(add_epi16)(sum, pairs_products(a + 2 * i + 2 * inner, second, inner, is_signed));
        if (b) sum = IMGOPS_WIDE(add_epi16)(sum, pairs_products(b + 2 * i, first, inner, is_signed));
        if (inner == 3) sum = pairs_packed(sum);
        if (b) {
            const fixed raise = is_signed ? bias : 0;
            const pairs_sums positive = (pairs_sums)sum + raise;
            const pairs_sums odd = positive >> FIXED_BITS & 1;
            const pairs_sums mean = ((positive + 127 + odd) >> FIXED_BITS) - (fixed)(raise >> FIXED_BITS);
            pairs_store(means + i, (pairs_bits)mean, inner == 3);
        }
        else pairs_keep(sums + i, sum, inner == 3);
    }
}
#endif
/* Rows shorter than a register. */
static void pairs_plain(
    const word8 *a, const word8 *b, const fixed *weights, ptrdiff_t width, fixed *sums, word8 *means, ptrdiff_t length,
    ptrdiff_t inner, int is_signed, fixed bias)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        const ptrdiff_t from = i / inner * 2 * inner + i % inner;
        fixed sum = 0;
        for (ptrdiff_t t = 0; t < width; t++) {
            const word8 x = a[from + t * inner], y = b ? b[from + t * inner] : 0;
            sum = (fixed)(sum + weights[t] * (is_signed ? (any_int8)x + (any_int8)y : x + y));
        }
        if (b) means[i] = fixed_rounded(sum, bias);
        else sums[i] = sum;
    }
}
#define IMGOPS_PAIRS(INNER, SIGNED)                                                                                  \
    if (inner == INNER && is_signed == SIGNED) {                                                                     \
        if (b) pairs_of(a, b, w, NULL, means, length, ahead, bias, 2, INNER, SIGNED);                                       \
        else if (width == 2) pairs_of(a, NULL, w, sums, NULL, length, ahead, 0, 2, INNER, SIGNED);                          \
        else pairs_of(a, NULL, w, sums, NULL, length, ahead, 0, 4, INNER, SIGNED);                                          \
    }
static void pairs_line(
    const void *first, const void *second, const fixed *weights, ptrdiff_t step, ptrdiff_t width, fixed *sums,
    word8 *means, ptrdiff_t length, ptrdiff_t inner, ptrdiff_t ahead, int is_signed, int spare_bits, fixed bias)
{
    const word8 *const a = (const word8 *)first, *const b = (const word8 *)second;
    fixed w[4] = {0, 0, 0, 0};
    for (ptrdiff_t t = 0; t < width; t++) w[t] = (fixed)(weights[t * step] << spare_bits);
    if (length < pairs_lanes) {
        pairs_plain(a, b, w, width, sums, means, length, inner, is_signed, bias);
        return;
    }
#if defined(__AVX2__)
    IMGOPS_PAIRS(1, 0) IMGOPS_PAIRS(2, 0) IMGOPS_PAIRS(3, 0) IMGOPS_PAIRS(4, 0)
    IMGOPS_PAIRS(1, 1) IMGOPS_PAIRS(2, 1) IMGOPS_PAIRS(3, 1) IMGOPS_PAIRS(4, 1)
#else
    (void)a, (void)b, (void)w, (void)sums, (void)means, (void)length, (void)inner, (void)is_signed, (void)bias;
    (void)ahead;
#endif
}

#endif
