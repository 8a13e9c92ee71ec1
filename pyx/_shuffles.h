/* Contiguous bytes gathered from windows of src, in units of 1, 2 or 4 bytes, a register of dst at a time.
 *
 *   unit k of block b of dst = unit controls[b, w, k] from src + offsets[b, w]
 *
 * by the one window w of the block whose control of k is not 128 or more. The last block ends where dst ends, and overlaps
 * the one before it. Blocks and windows have block_bytes(unit) bytes, which is 0 where the processor's level has no shuffle
 * of such units (none below x86-64-v3 and on other processors).
 *
 * shuffle_repeats does a few blocks again and again, with a step on either side: offsets and controls stay in registers,
 * and the last block is written whole beyond what is wanted of it, for the next repeat to write again.
 */
#ifndef IMGOPS_SHUFFLES_H
#define IMGOPS_SHUFFLES_H

#include <stddef.h>
#include <stdint.h>
#include "_words.h"


/* The most blocks of a repeat of shuffle_repeats, and the most windows of such a block. */
enum { IMGOPS_MAX_BLOCKS = 4, IMGOPS_MAX_BLOCK_WINDOWS = 4 };

#if defined(__SSSE3__)
#include <immintrin.h>

/* Gathers NAME: CONTROLS widens bytes to units and keeps their signs, ONE is a shuffle that may give anything where the
 * control is negative, and MORE one that gives `all` there. */
#define IMGOPS_GATHER(NAME, REGISTER, LANES, LOAD, STORE, CONTROLS, ONE, MORE)                                             \
    IMGOPS_INLINE void NAME##_of(                                                                                          \
        const char *src, char *dst, ptrdiff_t length, const ptrdiff_t *offsets, const uint8_t *controls,                   \
        const int windows)                                                                                                 \
    {                                                                                                                      \
        const ptrdiff_t block = sizeof(REGISTER);                                                                          \
        for (ptrdiff_t at = 0; at < length; at += block) {                                                                 \
            REGISTER all = ONE(CONTROLS(controls), LOAD((const void *)(src + offsets[0])));                                \
            for (int w = 1; w < windows; w++)                                                                              \
                all = MORE(all, CONTROLS(controls + LANES * w), LOAD((const void *)(src + offsets[w])));                   \
            STORE((void *)(dst + (at < length - block ? at : length - block)), all);                                       \
            offsets += windows;                                                                                            \
            controls += LANES * windows;                                                                                   \
        }                                                                                                                  \
    }                                                                                                                      \
    static inline void NAME(                                                                                               \
        const char *src, char *dst, ptrdiff_t length, const ptrdiff_t *offsets, const uint8_t *controls, int windows)      \
    {                                                                                                                      \
        if (windows == 1) NAME##_of(src, dst, length, offsets, controls, 1);                                               \
        else if (windows == 2) NAME##_of(src, dst, length, offsets, controls, 2);                                          \
        else if (windows == 3) NAME##_of(src, dst, length, offsets, controls, 3);                                          \
        else if (windows == 4) NAME##_of(src, dst, length, offsets, controls, 4);                                          \
        else NAME##_of(src, dst, length, offsets, controls, windows);                                                      \
    }                                                                                                                      \
    IMGOPS_INLINE void NAME##_repeats_of(                                                                                  \
        const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step, ptrdiff_t count, const ptrdiff_t *offsets,     \
        const uint8_t *controls, const int blocks, const int windows)                                                      \
    {                                                                                                                      \
        ptrdiff_t places[IMGOPS_MAX_BLOCKS * IMGOPS_MAX_BLOCK_WINDOWS];                                                    \
        REGISTER held[IMGOPS_MAX_BLOCKS * IMGOPS_MAX_BLOCK_WINDOWS];                                                       \
        IMGOPS_UNROLL                                                                                                      \
        for (int k = 0; k < blocks * windows; k++) {                                                                       \
            places[k] = offsets[k];                                                                                        \
            held[k] = CONTROLS(controls + LANES * k);                                                                      \
        }                                                                                                                  \
        for (ptrdiff_t i = 0; i < count; i++) {                                                                            \
            IMGOPS_UNROLL                                                                                                  \
            for (int b = 0; b < blocks; b++) {                                                                             \
                REGISTER all = ONE(held[windows * b], LOAD((const void *)(src + places[windows * b])));                    \
                IMGOPS_UNROLL                                                                                              \
                for (int k = windows * b + 1; k < windows * (b + 1); k++)                                                  \
                    all = MORE(all, held[k], LOAD((const void *)(src + places[k])));                                       \
                STORE((void *)(dst + b * (ptrdiff_t)sizeof(REGISTER)), all);                                               \
            }                                                                                                              \
            src += src_step;                                                                                               \
            dst += dst_step;                                                                                               \
        }                                                                                                                  \
    }                                                                                                                      \
    static inline void NAME##_repeats(                                                                                     \
        const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step, ptrdiff_t count, const ptrdiff_t *offsets,     \
        const uint8_t *controls, int blocks, int windows)                                                                  \
    {                                                                                                                      \
        switch (IMGOPS_MAX_BLOCK_WINDOWS * (blocks - 1) + windows - 1) {                                                   \
            IMGOPS_SHAPES(NAME, 1)                                                                                         \
            IMGOPS_SHAPES(NAME, 2)                                                                                         \
            IMGOPS_SHAPES(NAME, 3)                                                                                         \
            IMGOPS_SHAPES(NAME, 4)                                                                                         \
        }                                                                                                                  \
    }
#define IMGOPS_SHAPES(NAME, BLOCKS) \
    IMGOPS_SHAPE(NAME, BLOCKS, 1) IMGOPS_SHAPE(NAME, BLOCKS, 2) IMGOPS_SHAPE(NAME, BLOCKS, 3) IMGOPS_SHAPE(NAME, BLOCKS, 4)
#define IMGOPS_SHAPE(NAME, BLOCKS, WINDOWS) \
    case IMGOPS_MAX_BLOCK_WINDOWS * (BLOCKS - 1) + WINDOWS - 1: \
        NAME##_repeats_of(src, src_step, dst, dst_step, count, offsets, controls, BLOCKS, WINDOWS); break;

#define ONE_8(control, window) _mm_shuffle_epi8(window, control)
#define MORE_8(all, control, window) _mm_or_si128(all, _mm_shuffle_epi8(window, control))
IMGOPS_GATHER(gather_8, __m128i, 16, _mm_loadu_si128, _mm_storeu_si128, *(const __m128i_u *), ONE_8, MORE_8)

#if defined(__AVX512BW__)
#define CONTROLS_16(controls) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(controls)))
#define MORE_16(all, control, window) \
    _mm512_mask_permutexvar_epi16(all, _knot_mask32(_mm512_movepi16_mask(control)), control, window)
IMGOPS_GATHER(
    gather_16, __m512i, 32, _mm512_loadu_si512, _mm512_storeu_si512, CONTROLS_16, _mm512_permutexvar_epi16, MORE_16)
#define CONTROLS_32(controls) _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(controls)))
#define MORE_32(all, control, window) \
    _mm512_mask_permutexvar_epi32(all, _knot_mask16(_mm512_movepi32_mask(control)), control, window)
IMGOPS_GATHER(
    gather_32, __m512i, 16, _mm512_loadu_si512, _mm512_storeu_si512, CONTROLS_32, _mm512_permutexvar_epi32, MORE_32)
#define IMGOPS_BLOCK_16 64
#define IMGOPS_BLOCK_32 64
#elif defined(__AVX2__)
#define CONTROLS_32(controls) _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(controls)))
#define ONE_32(control, window) _mm256_permutevar8x32_epi32(window, control)
#define MORE_32(all, control, window) \
    _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(ONE_32(control, window)), \
        _mm256_castsi256_ps(all), _mm256_castsi256_ps(control)))
IMGOPS_GATHER(gather_32, __m256i, 8, _mm256_loadu_si256, _mm256_storeu_si256, CONTROLS_32, ONE_32, MORE_32)
#define gather_16 gather_8
#define gather_16_repeats gather_8_repeats
#define IMGOPS_BLOCK_16 0
#define IMGOPS_BLOCK_32 32
#else
#define gather_16 gather_8
#define gather_32 gather_8
#define gather_16_repeats gather_8_repeats
#define gather_32_repeats gather_8_repeats
#define IMGOPS_BLOCK_16 0
#define IMGOPS_BLOCK_32 0
#endif

IMGOPS_INLINE ptrdiff_t block_bytes(int unit) { return unit == 1 ? 16 : unit == 2 ? IMGOPS_BLOCK_16 : IMGOPS_BLOCK_32; }
IMGOPS_INLINE void shuffle_blocks(
    const char *src, char *dst, ptrdiff_t length, const ptrdiff_t *offsets, const uint8_t *controls, int windows, int unit)
{
    if (unit == 1) gather_8(src, dst, length, offsets, controls, windows);
    else if (unit == 2) gather_16(src, dst, length, offsets, controls, windows);
    else gather_32(src, dst, length, offsets, controls, windows);
}
IMGOPS_INLINE void shuffle_repeats(
    const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step, ptrdiff_t count, const ptrdiff_t *offsets,
    const uint8_t *controls, int blocks, int windows, int unit)
{
    if (unit == 1) gather_8_repeats(src, src_step, dst, dst_step, count, offsets, controls, blocks, windows);
    else if (unit == 2) gather_16_repeats(src, src_step, dst, dst_step, count, offsets, controls, blocks, windows);
    else gather_32_repeats(src, src_step, dst, dst_step, count, offsets, controls, blocks, windows);
}
#else
IMGOPS_INLINE ptrdiff_t block_bytes(int unit) { return 0; }
#define shuffle_blocks(src, dst, length, offsets, controls, windows, unit) ((void)0)
#define shuffle_repeats(src, src_step, dst, dst_step, count, offsets, controls, blocks, windows, unit) ((void)0)
#endif

/* Transposes: element k of column q of dst is element q of row k of src, for `count` matrices with a step on either side.
 *
 *   dst[i * dst_step + columns[q] + size k] = src[i * src_step + rows[k] + size q]
 *
 * Tiles of 16 bytes square, the last ones overlapping those before them. Where a row of src or a column of dst is shorter
 * than a tile, 16 bytes of it are read or written all the same, except in the last matrix: what lies there in src belongs
 * to the array, and what is written there too much is written again by what follows. `rows` has at least a tile's entries.
 */
#if defined(__SSE2__)
#include <emmintrin.h>
#define IMGOPS_HAS_TRANSPOSES 1
#define IMGOPS_TRANSPOSE(BITS, TILE, ROUNDS)                                                                               \
    IMGOPS_INLINE void transpose_tile_##BITS(                                                                              \
        const char *src, const ptrdiff_t *rows, char *dst, const ptrdiff_t *columns, ptrdiff_t column_count)               \
    {                                                                                                                      \
        __m128i even[TILE], odd[TILE];                                                                                     \
        IMGOPS_UNROLL                                                                                                      \
        for (int k = 0; k < TILE; k++) even[k] = _mm_loadu_si128((const __m128i *)(src + rows[k]));                        \
        /* Each round interleaves the first half of the registers with the second. */                                      \
        IMGOPS_UNROLL                                                                                                      \
        for (int round = 0; round < ROUNDS; round++) {                                                                     \
            IMGOPS_UNROLL                                                                                                  \
            for (int k = 0; k < TILE / 2; k++) {                                                                           \
                odd[2 * k] = _mm_unpacklo_epi##BITS(even[k], even[k + TILE / 2]);                                          \
                odd[2 * k + 1] = _mm_unpackhi_epi##BITS(even[k], even[k + TILE / 2]);                                      \
            }                                                                                                              \
            IMGOPS_UNROLL                                                                                                  \
            for (int k = 0; k < TILE; k++) even[k] = odd[k];                                                               \
        }                                                                                                                  \
        IMGOPS_UNROLL                                                                                                      \
        for (int k = 0; k < TILE; k++)                                                                                     \
            if (k < column_count) _mm_storeu_si128((__m128i *)(dst + columns[k]), even[k]);                                \
    }                                                                                                                      \
    static inline void transpose_##BITS(                                                                                   \
        const char *src, ptrdiff_t src_step, const ptrdiff_t *rows, ptrdiff_t row_count, char *dst, ptrdiff_t dst_step,    \
        const ptrdiff_t *columns, ptrdiff_t column_count, ptrdiff_t count)                                                 \
    {                                                                                                                      \
        const int whole = row_count >= TILE && column_count >= TILE;                                                       \
        for (ptrdiff_t i = 0; i < count - !whole; i++) {                                                                   \
            for (ptrdiff_t r = 0; r < row_count; r += TILE) {                                                              \
                const ptrdiff_t row = row_count < TILE || r + TILE <= row_count ? r : row_count - TILE;                    \
                ptrdiff_t q = 0;                                                                                           \
                for (; q + TILE <= column_count; q += TILE)                                                                \
                    transpose_tile_##BITS(                                                                                 \
                        src + q * (BITS / 8), rows + row, dst + row * (BITS / 8), columns + q, TILE);                      \
                if (q < column_count) {                                                                                    \
                    q = column_count < TILE ? 0 : column_count - TILE;                                                     \
                    transpose_tile_##BITS(                                                                                 \
                        src + q * (BITS / 8), rows + row, dst + row * (BITS / 8), columns + q, column_count - q);          \
                }                                                                                                          \
            }                                                                                                              \
            src += src_step;                                                                                               \
            dst += dst_step;                                                                                               \
        }                                                                                                                  \
        if (!whole)                                                                                                        \
            for (ptrdiff_t q = 0; q < column_count; q++)                                                                   \
                for (ptrdiff_t r = 0; r < row_count; r++)                                                                  \
                    ((word##BITS *)(dst + columns[q]))[r] = ((const word##BITS *)(src + rows[r]))[q];                      \
    }
IMGOPS_TRANSPOSE(8, 16, 4)
IMGOPS_TRANSPOSE(16, 8, 3)
IMGOPS_TRANSPOSE(32, 4, 2)
IMGOPS_TRANSPOSE(64, 2, 1)
static inline void transpose_words(
    const char *src, ptrdiff_t src_step, const ptrdiff_t *rows, ptrdiff_t row_count, char *dst, ptrdiff_t dst_step,
    const ptrdiff_t *columns, ptrdiff_t column_count, ptrdiff_t count, ptrdiff_t size)
{
    if (size == 1) transpose_8(src, src_step, rows, row_count, dst, dst_step, columns, column_count, count);
    else if (size == 2) transpose_16(src, src_step, rows, row_count, dst, dst_step, columns, column_count, count);
    else if (size == 4) transpose_32(src, src_step, rows, row_count, dst, dst_step, columns, column_count, count);
    else transpose_64(src, src_step, rows, row_count, dst, dst_step, columns, column_count, count);
}
#else
#define IMGOPS_HAS_TRANSPOSES 0
#define transpose_words(src, src_step, rows, row_count, dst, dst_step, columns, column_count, count, size) ((void)0)
#endif

#endif
