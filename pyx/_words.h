/* Element types that may stand at any address, and the two 16-bit float formats.
 *
 * Arrays reach the kernels with any strides, so an element may be misaligned: the types say so to the compiler, which then
 * uses unaligned loads (free on x86-64 and AArch64) instead of assuming alignment. They may also alias one another.
 * Every function gives the same bits whether the processor's conversion instructions are used or not.
 */
#ifndef IMGOPS_WORDS_H
#define IMGOPS_WORDS_H

#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define IMGOPS_ANY_ADDRESS __attribute__((aligned(1), may_alias))
#define IMGOPS_INLINE static inline __attribute__((always_inline))
#else
#define IMGOPS_ANY_ADDRESS
#define IMGOPS_INLINE static __forceinline
#endif

/* A loop of at most 16 steps, all written out, so that arrays of registers stay in registers. */
#if defined(__clang__)
#define IMGOPS_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define IMGOPS_UNROLL _Pragma("GCC unroll 16")
#else
#define IMGOPS_UNROLL
#endif

typedef uint8_t word8;
typedef uint16_t IMGOPS_ANY_ADDRESS word16;
typedef uint32_t IMGOPS_ANY_ADDRESS word32;
typedef uint64_t IMGOPS_ANY_ADDRESS word64;
typedef int8_t any_int8;
typedef int16_t IMGOPS_ANY_ADDRESS any_int16;
typedef int32_t IMGOPS_ANY_ADDRESS any_int32;
typedef int64_t IMGOPS_ANY_ADDRESS any_int64;
typedef float IMGOPS_ANY_ADDRESS any_float;
typedef double IMGOPS_ANY_ADDRESS any_double;
/* An accumulator of integers with some bits behind the point; sums and products wrap, so it holds negative ones as well. */
typedef uint16_t fixed;

IMGOPS_INLINE uint32_t float_bits(float value) { uint32_t bits; memcpy(&bits, &value, 4); return bits; }
IMGOPS_INLINE float bits_float(uint32_t bits) { float value; memcpy(&value, &bits, 4); return value; }

/* NaN keeps its payload and becomes quiet, as in F16C. */
IMGOPS_INLINE float half_to_float_portable(uint16_t half)
{
    const uint32_t exponent_mask = 0x7c00u << 13;
    uint32_t bits = ((uint32_t)half & 0x7fffu) << 13;
    const uint32_t exponent = bits & exponent_mask;
    const uint32_t special = bits + ((uint32_t)(127 - 15) << 23) + ((uint32_t)(128 - 16) << 23);
    const uint32_t quiet = special | ((bits & 0x007fffffu) ? 0x00400000u : 0u);
    /* A subnormal: as a normal of the smallest exponent, less the implicit one. */
    const uint32_t subnormal = float_bits(bits_float(bits + ((uint32_t)(127 - 15) << 23) + (1u << 23)) - bits_float(113u << 23));
    const uint32_t normal = bits + ((uint32_t)(127 - 15) << 23);
    bits = exponent == exponent_mask ? quiet : (exponent == 0 ? subnormal : normal);
    return bits_float(bits | (((uint32_t)half & 0x8000u) << 16));
}

/* Round to nearest even, subnormals and overflow to infinity included. */
IMGOPS_INLINE uint16_t float_to_half_portable(float value)
{
    const uint32_t all = float_bits(value);
    const uint32_t sign = (all >> 16) & 0x8000u;
    const uint32_t bits = all & 0x7fffffffu;
    const uint32_t nan = 0x7e00u | ((bits >> 13) & 0x01ffu);
    /* Adding 0.5 lets the addition itself round at the last bit of a subnormal half. */
    const uint32_t subnormal = float_bits(bits_float(bits) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (bits - ((uint32_t)(127 - 15) << 23) + 0x0fffu + ((bits >> 13) & 1u)) >> 13;
    const uint32_t half = bits > 0x7f800000u ? nan : (bits >= 0x47800000u ? 0x7c00u : (bits < 0x38800000u ? subnormal : normal));
    return (uint16_t)(half | sign);
}

#if defined(__F16C__)
IMGOPS_INLINE float half_to_float(uint16_t half) { return _cvtsh_ss(half); }
IMGOPS_INLINE uint16_t float_to_half(float value) { return (uint16_t)_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
#else
IMGOPS_INLINE float half_to_float(uint16_t half) { return half_to_float_portable(half); }
IMGOPS_INLINE uint16_t float_to_half(float value) { return float_to_half_portable(value); }
#endif

static inline void halves_to_floats(const word16 *source, float *target, ptrdiff_t count)
{
    ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(source + i))));
#endif
    for (; i < count; i++) target[i] = half_to_float(source[i]);
}

static inline void floats_to_halves(const float *source, word16 *target, ptrdiff_t count)
{
    ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(target + i), _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < count; i++) target[i] = float_to_half(source[i]);
}

IMGOPS_INLINE float bfloat_to_float(uint16_t bits) { return bits_float((uint32_t)bits << 16); }

IMGOPS_INLINE uint16_t float_to_bfloat(float value)
{
    const uint32_t bits = float_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? ((bits >> 16) | 0x0040u) : rounded);
}

/* A double on its way to a 16-bit float: rounded to odd, so that the second rounding sees what was lost. */
IMGOPS_INLINE float double_to_odd_float(double value)
{
    const float nearest = (float)value;
    uint32_t bits = float_bits(nearest);
    const double back = (double)nearest;
    if (back != value && value == value && (bits & 0x7f800000u) != 0x7f800000u) {
        const int too_large = (back < 0 ? -back : back) > (value < 0 ? -value : value);
        bits = (bits - (uint32_t)too_large) | 1u;
    }
    return bits_float(bits);
}

/* Integers from a float: clamped, then half to even by adding and taking away a number that leaves no room for fractions. */
IMGOPS_INLINE float round_clamped_float(float value, float low, float high)
{
    value = value > low ? value : low;
    value = value < high ? value : high;
    return (value + 12582912.0f) - 12582912.0f;
}

IMGOPS_INLINE double round_clamped_double(double value, double low, double high)
{
    value = value > low ? value : low;
    value = value < high ? value : high;
    return (value + 6755399441055744.0) - 6755399441055744.0;
}

#endif
