/* Contiguous bytes gathered from windows of src: block b of dst is the union of what each of its windows gives.
 *
 *   dst[16 b + k] = src[offsets[b, w] + controls[b, w, k]]   by the window w whose control of k is not 128 or more
 *
 * The last block ends where dst ends, and overlaps the one before it. Without a byte shuffle (below x86-64-v3, other
 * processors) IMGOPS_HAS_SHUFFLES is 0, and words are copied one by one.
 */
#ifndef IMGOPS_SHUFFLES_H
#define IMGOPS_SHUFFLES_H

#include <stddef.h>
#include <stdint.h>
#include "_words.h"

#if defined(__SSSE3__)
#include <immintrin.h>
#define IMGOPS_HAS_SHUFFLES 1
IMGOPS_INLINE void shuffle_blocks_of(
    const char *src, char *dst, ptrdiff_t length, const ptrdiff_t *offsets, const uint8_t *controls, const int windows)
{
    for (ptrdiff_t at = 0; at < length; at += 16) {
        __m128i all = _mm_setzero_si128();
        for (int w = 0; w < windows; w++) {
            const __m128i window = _mm_loadu_si128((const __m128i *)(src + offsets[w]));
            all = _mm_or_si128(all, _mm_shuffle_epi8(window, _mm_loadu_si128((const __m128i *)(controls + 16 * w))));
        }
        _mm_storeu_si128((__m128i *)(dst + (at < length - 16 ? at : length - 16)), all);
        offsets += windows;
        controls += 16 * windows;
    }
}
static inline void shuffle_blocks(
    const char *src, char *dst, ptrdiff_t length, const ptrdiff_t *offsets, const uint8_t *controls, int windows)
{
    if (windows == 1) shuffle_blocks_of(src, dst, length, offsets, controls, 1);
    else if (windows == 2) shuffle_blocks_of(src, dst, length, offsets, controls, 2);
    else if (windows == 3) shuffle_blocks_of(src, dst, length, offsets, controls, 3);
    else if (windows == 4) shuffle_blocks_of(src, dst, length, offsets, controls, 4);
    else shuffle_blocks_of(src, dst, length, offsets, controls, windows);
}
#else
#define IMGOPS_HAS_SHUFFLES 0
#define shuffle_blocks(src, dst, length, offsets, controls, windows) ((void)0)
#endif

#endif
