/* Bytes copied past the caches, for outputs that no cache keeps: a line of them is neither fetched before it is overwritten nor
 * does it drive out what is still to be read. Not for outputs that are fresh, memory that nobody has written since the system
 * cleared it: its lines are in a cache, and would have to leave it first.
 */
#ifndef IMGOPS_STREAMS_H
#define IMGOPS_STREAMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_words.h"

/* Bytes of an output from which on this pays: below, what comes next finds the output in a cache. */
enum { STREAM_BYTES = 32000000 };

#if defined(__AVX512F__)
#include <immintrin.h>
#define IMGOPS_STREAM(src, dst) _mm512_stream_si512((void *)(dst), _mm512_loadu_si512(src))
enum { stream_bytes = 64 };
#elif defined(__SSE2__)
#include <emmintrin.h>
#define IMGOPS_STREAM(src, dst) _mm_stream_si128((__m128i *)(dst), _mm_loadu_si128((const __m128i *)(src)))
enum { stream_bytes = 16 };
#endif

#if defined(IMGOPS_STREAM)
#define IMGOPS_HAS_STREAMS 1
IMGOPS_INLINE void stream(const void *src, void *dst, ptrdiff_t size)
{
    enum { LINE = 64 };
    const char *from = (const char *)src;
    char *to = (char *)dst;
    const ptrdiff_t unaligned = (ptrdiff_t)(-(uintptr_t)to % LINE);
    const ptrdiff_t head = unaligned < size ? unaligned : size;
    const ptrdiff_t whole = head + (size - head) / LINE * LINE;
    memcpy(to, from, (size_t)head);
    for (ptrdiff_t i = head; i < whole; i += stream_bytes) IMGOPS_STREAM(from + i, to + i);
    memcpy(to + whole, from + whole, (size_t)(size - whole));
}
/* Other threads may read what was streamed before this only after it. */
IMGOPS_INLINE void finish_streams(void) { _mm_sfence(); }
#else
#define IMGOPS_HAS_STREAMS 0
#define stream(src, dst, size) memcpy(dst, src, (size_t)(size))
#define finish_streams() ((void)0)
#endif

#endif
