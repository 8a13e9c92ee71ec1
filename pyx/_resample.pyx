# Resample: tables of taps applied along one or two axes, forward and transposed alike, and nearest by index tables.
#
#   out[.., p, q, c] = sum over i, j of  rows[p, i] * cols[q, j] * x[.., i, j, c]       one accumulator, taps in order
#
# `rows` is the axis further out in memory, `cols` the one further in; either may have no table (identity). Axes inside
# cols are merged into c where they can be; all others are outer. The pass over cols comes first (its rows are kept in a
# ring, so that a row is computed once and no temporary of the output's size exists) unless rows_first.
# Parallel over (tile of cols, outer, row of out), contiguous parts per thread, each with its own ring.
# Not handled: zero-length axes, overlap of x and out, more than two tables at once.
from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from _moves cimport BYTES_PER_THREAD, RUNS, Move, add_axis, move_part, move_threads, plan_move, release_move
from _types cimport (
    FLOAT32, FLOAT64, INT8, INT16, MAX_AXES, UINT8, UINT16, any_int8, fixed, load, load_numbers, magnitude, store,
    word8, word16,
)

cdef extern from "_streams.h" nogil:
    const bint IMGOPS_HAS_STREAMS
    const Py_ssize_t STREAM_BYTES
    void stream(const void* src, void* dst, Py_ssize_t size)
    void finish_streams()

cdef extern from "_lines.h" nogil:
    const int IMGOPS_HAS_LANES
    const int float_lanes_of_block, double_lanes_of_block, fixed_lanes_of_block
    const int ONE_WINDOW, WIDE_WINDOW, WINDOW_PER_TAP
    void float_pixels(
        const float* src, const int32_t* relative, const float* weights, Py_ssize_t step, Py_ssize_t width, float* dst,
        Py_ssize_t begin, Py_ssize_t end, Py_ssize_t inner, bint masked
    )
    void double_pixels(
        const double* src, const int32_t* relative, const double* weights, Py_ssize_t step, Py_ssize_t width,
        double* dst, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t inner, bint masked
    )
    void fixed_pixels(
        const fixed* src, const int32_t* relative, const fixed* weights, Py_ssize_t step, Py_ssize_t width, fixed* dst,
        Py_ssize_t begin, Py_ssize_t end, Py_ssize_t inner, bint masked
    )
    Py_ssize_t float_periodic(
        const float* src, const int32_t* relative, const float* weights, Py_ssize_t step, Py_ssize_t width, float* dst,
        Py_ssize_t begin, Py_ssize_t end, Py_ssize_t period, Py_ssize_t advance
    )
    Py_ssize_t double_periodic(
        const double* src, const int32_t* relative, const double* weights, Py_ssize_t step, Py_ssize_t width,
        double* dst, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t period, Py_ssize_t advance
    )
    Py_ssize_t fixed_periodic(
        const fixed* src, const int32_t* relative, const fixed* weights, Py_ssize_t step, Py_ssize_t width, fixed* dst,
        Py_ssize_t begin, Py_ssize_t end, Py_ssize_t period, Py_ssize_t advance
    )
    void float_blocks(
        const float* src, const int32_t* windows, const uint8_t* lanes, const float* weights, Py_ssize_t width,
        Py_ssize_t inner, float* dst, Py_ssize_t begin, Py_ssize_t last, Py_ssize_t count, int window, bint masked
    )
    void double_blocks(
        const double* src, const int32_t* windows, const uint8_t* lanes, const double* weights, Py_ssize_t width,
        Py_ssize_t inner, double* dst, Py_ssize_t begin, Py_ssize_t last, Py_ssize_t count, int window, bint masked
    )
    void fixed_blocks(
        const fixed* src, const int32_t* windows, const uint8_t* lanes, const fixed* weights, Py_ssize_t width,
        Py_ssize_t inner, fixed* dst, Py_ssize_t begin, Py_ssize_t last, Py_ssize_t count, int window, bint masked
    )
    void float_turn_rows(const float* rows, Py_ssize_t step, Py_ssize_t length, float* across)
    void float_turn_back(const float* across, float* rows, Py_ssize_t step, Py_ssize_t length)
    void float_across(
        const float* src, Py_ssize_t first, const int64_t* starts, const int64_t* counts, const int64_t* offsets,
        const float* weights, float* dst, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t inner
    )
    void double_turn_rows(const double* rows, Py_ssize_t step, Py_ssize_t length, double* across)
    void double_turn_back(const double* across, double* rows, Py_ssize_t step, Py_ssize_t length)
    void double_across(
        const double* src, Py_ssize_t first, const int64_t* starts, const int64_t* counts, const int64_t* offsets,
        const double* weights, double* dst, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t inner
    )
    void float_blend(const void** rows, const float* weights, int count, float* dst, Py_ssize_t length, bint more)
    void float_blend_word8(const void** rows, const float* weights, int count, float* dst, Py_ssize_t length, bint more)
    void float_blend_int8(const void** rows, const float* weights, int count, float* dst, Py_ssize_t length, bint more)
    void float_blend_word16(
        const void** rows, const float* weights, int count, float* dst, Py_ssize_t length, bint more
    )
    void float_blend_int16(const void** rows, const float* weights, int count, float* dst, Py_ssize_t length, bint more)
    void double_blend(const void** rows, const double* weights, int count, double* dst, Py_ssize_t length, bint more)
    void fixed_blend(const void** rows, const fixed* weights, int count, fixed* dst, Py_ssize_t length, bint more)
    void fixed_blend_word8(const void** rows, const fixed* weights, int count, fixed* dst, Py_ssize_t length, bint more)
    void fixed_blend_int8(const void** rows, const fixed* weights, int count, fixed* dst, Py_ssize_t length, bint more)
    void float_blend_two(
        const void** rows, int count, const float* weights, int first, float* dst, bint more,
        const float* next_weights, int next_first, float* next, Py_ssize_t length
    )
    void float_blend_word8_two(
        const void** rows, int count, const float* weights, int first, float* dst, bint more,
        const float* next_weights, int next_first, float* next, Py_ssize_t length
    )
    void float_blend_int8_two(
        const void** rows, int count, const float* weights, int first, float* dst, bint more,
        const float* next_weights, int next_first, float* next, Py_ssize_t length
    )
    void float_blend_word16_two(
        const void** rows, int count, const float* weights, int first, float* dst, bint more,
        const float* next_weights, int next_first, float* next, Py_ssize_t length
    )
    void float_blend_int16_two(
        const void** rows, int count, const float* weights, int first, float* dst, bint more,
        const float* next_weights, int next_first, float* next, Py_ssize_t length
    )
    void double_blend_two(
        const void** rows, int count, const double* weights, int first, double* dst, bint more,
        const double* next_weights, int next_first, double* next, Py_ssize_t length
    )
    void float_blend_to_word8(
        const void** rows, const float* weights, int count, word8* dst, Py_ssize_t length, fixed bias
    )
    void float_blend_to_word16(
        const void** rows, const float* weights, int count, word16* dst, Py_ssize_t length, fixed bias
    )
    const int FIXED_BITS
    word8 fixed_rounded(fixed sum, fixed bias)
    void fixed_blend_to_word8(
        const void** rows, const fixed* weights, int count, word8* dst, Py_ssize_t length, fixed bias
    )
    const int pairs_lanes
    void pairs_line(
        const void* first, const void* second, const fixed* weights, Py_ssize_t step, Py_ssize_t width, fixed* sums,
        word8* means, Py_ssize_t length, Py_ssize_t inner, Py_ssize_t ahead, bint is_signed, int spare_bits, fixed bias
    )

# float64 and 32-bit integers are summed in double. Weights that are all multiples of a small power of two make 8-bit
# results exact in `fixed`: the bits that float gives, too.
ctypedef fused accumulator:
    float
    double
    fixed

cdef enum:
    # Rows kept for reuse; longer columns of taps are summed row by row.
    MAX_RING = 64
    # Elements of a row that one tile computes, so that a ring stays in the cache.
    TILE = 16384
    # Elements of a row that one tile may read.
    TILE_INPUT = 262144
    # Unresampled axes of at least this many elements make a row of their own.
    MIN_ROW = 8
    # Rows that are blended at a time, a multiple of 4.
    BLENDED_ROWS = 16
    # The most lanes of a block.
    MAX_LANES = 32
    # The most taps of tables that go by blocks.
    BLOCK_TAPS = 8
    # Bytes of a cache line.
    LINE = 64
    # Elements of a row that one tile may read where rows go side by side, and those that are turned at a time.
    ACROSS_INPUT = 8192
    ACROSS_PART = 512
    # Taps from which on that pays.
    ACROSS_TAPS = 6
    # Lines under which the blocks of a tile do not pay.
    BLOCK_LINES = 16
    # Bytes that are moved in the time that a row takes whatever its length.
    ROW_BYTES = 512


cdef bint are_means(const int64_t[::1] offsets, const double[::1] weights, double one):
    cdef Py_ssize_t o, i
    cdef double total
    for o in range(offsets.shape[0] - 1):
        total = 0
        for i in range(offsets[o], offsets[o + 1]):
            if not weights[i] >= 0:
                return False
            total += weights[i]
        if total > one * (1 + 1e-6):
            return False
    return True


cdef class Table:
    """Taps of one axis in the accumulator's type; see imgops.taps.Taps.

    padded_starts and padded hold the same taps as `width` weights per output, all inside the input, zeros added before
    or behind; empty where rows are too uneven. Outputs core[0]..core[1] have no zero among them; where period is not 0,
    the same weights stand `advance` inputs further on, `period` outputs later. Weights of `fixed` are multiplied by
    2**shift. is_mean: no weight is negative and no sum of an output's weights is above 1, but for rounding, so that
    results stay between the least and the greatest input.
    """

    cdef readonly Py_ssize_t input_length, output_length, width
    cdef const int64_t[::1] starts, counts, offsets, padded_starts
    cdef const float[::1] weights32
    cdef const double[::1] weights64
    cdef const unsigned short[::1] weights16
    cdef const float[:, ::1] padded32
    cdef const double[:, ::1] padded64
    cdef const unsigned short[:, ::1] padded16
    cdef Py_ssize_t core_begin, core_end, period, advance
    cdef int itemsize, shift
    cdef bint has_empty, is_mean

    def __init__(
        self, Py_ssize_t input_length, starts, counts, offsets, weights, padded_starts, padded, core, rhythm, int shift
    ):
        self.input_length = input_length
        self.output_length = len(starts)
        self.starts = starts
        self.counts = counts
        self.offsets = offsets
        self.padded_starts = padded_starts
        self.width = len(padded)
        self.core_begin, self.core_end = core
        self.period, self.advance = rhythm
        self.has_empty = bool((counts == 0).any())
        self.shift = shift
        self.itemsize = weights.itemsize
        self.is_mean = are_means(offsets, weights.astype("f8"), 1 << shift)
        if self.itemsize == 2:
            self.weights16 = weights
            self.padded16 = padded
        elif self.itemsize == 4:
            self.weights32 = weights
            self.padded32 = padded
        else:
            self.weights64 = weights
            self.padded64 = padded

    def __reduce__(self):
        raise TypeError("a kernel's table cannot be pickled; pickle the Taps that it was made of")


cdef struct Axis:
    Py_ssize_t input_length
    Py_ssize_t output_length
    Py_ssize_t src_step
    Py_ssize_t dst_step
    bint mapped
    const int64_t* starts
    const int64_t* counts
    const int64_t* offsets
    const void* weights
    const int64_t* padded_starts
    const void* padded
    Py_ssize_t width
    Py_ssize_t longest
    Py_ssize_t core_begin
    Py_ssize_t core_end
    Py_ssize_t period
    Py_ssize_t advance
    int shift
    bint has_empty

cdef struct Job:
    const char* src
    char* dst
    int src_dtype
    int dst_dtype
    Py_ssize_t dst_size
    bint add
    Axis rows
    Axis cols
    Py_ssize_t inner
    Py_ssize_t src_inner_step
    Py_ssize_t dst_inner_step
    int outer_rank
    Py_ssize_t outer_length[MAX_AXES]
    Py_ssize_t outer_src_step[MAX_AXES]
    Py_ssize_t outer_dst_step[MAX_AXES]
    Py_ssize_t outer_count
    bint rows_first
    bint src_direct
    bint dst_direct
    # Rows of integers that a blend converts on its way in, or rounds on its way out.
    bint blends_in
    bint blends_out
    bint is_mean
    # Integers in and out: no NaN that a weight of zero could spread, and no sign of a zero that it could change.
    bint only_integers
    # Bytes that pairs of pixels are summed of, in rows of sums, or rounded where both axes take means of two.
    bint pairs
    bint halves
    # Rows of an output that no cache keeps go past the caches.
    bint streams
    # Of `fixed`: bits that the weights leave of those behind the point, and what makes sums positive.
    int spare_bits
    fixed bias
    # As many rows of output as a register has lanes go through the table of cols side by side.
    bint across
    # Outputs that are turned at a time, and the most inputs that they read.
    Py_ssize_t across_part
    Py_ssize_t across_input
    Py_ssize_t tile
    Py_ssize_t tiles
    Py_ssize_t tile_input
    Py_ssize_t ring
    Py_ssize_t ring_row
    Py_ssize_t units

# What one thread works with; the buffers lie in its own part of one allocation.
cdef struct Workspace:
    char* ring
    char* loaded
    char* blended
    char* result
    char* streamed
    # Where rows go side by side: so many elements from one to the next, and parts of them turned.
    Py_ssize_t blended_step
    Py_ssize_t result_step
    char* turned
    char* turned_sums
    int32_t* relative
    # See blocks in _lines.h: `blocks` of them, from the element block_begin of the tile's row to the end of last_block.
    int32_t* windows
    uint8_t* lanes
    char* weights
    Py_ssize_t blocks
    Py_ssize_t block_begin
    Py_ssize_t last_block
    int window
    bint masked_blocks
    int64_t tags[MAX_RING]
    Py_ssize_t tile_begin
    Py_ssize_t tile_end
    Py_ssize_t input_begin
    Py_ssize_t input_end


# ---------------------------------------------------------------------------------------------------------------------
# Along cols


cdef inline accumulator tap(accumulator weight, accumulator value, bint masked) noexcept nogil:
    # A tap of weight zero is not there: -0.0 is what leaves every sum as it is.
    if masked:
        return weight * value if weight != 0 else <accumulator>(-0.0)
    return weight * value


cdef inline void taps_line(
    const accumulator* src, const int32_t* relative, const accumulator* weights, Py_ssize_t weights_step,
    Py_ssize_t width, accumulator* dst, Py_ssize_t begin, Py_ssize_t end, const Py_ssize_t inner, const bint masked
) noexcept nogil:
    """dst[j, c] = sum over t < width of weights[t, j] * src[relative[j] + t * inner + c], four taps at a time."""
    cdef Py_ssize_t j, c, t
    cdef const accumulator* w0 = weights
    cdef const accumulator* w1 = weights + weights_step
    cdef const accumulator* w2 = weights + 2 * weights_step
    cdef const accumulator* w3 = weights + 3 * weights_step
    cdef const accumulator* x
    if width == 1:
        for j in range(begin, end):
            x = src + relative[j]
            for c in range(inner):
                dst[j * inner + c] = tap(w0[j], x[c], masked)
    elif width == 2:
        for j in range(begin, end):
            x = src + relative[j]
            for c in range(inner):
                dst[j * inner + c] = tap(w0[j], x[c], masked) + tap(w1[j], x[inner + c], masked)
    elif width == 3:
        for j in range(begin, end):
            x = src + relative[j]
            for c in range(inner):
                dst[j * inner + c] = (
                    tap(w0[j], x[c], masked) + tap(w1[j], x[inner + c], masked) + tap(w2[j], x[2 * inner + c], masked)
                )
    else:
        for j in range(begin, end):
            x = src + relative[j]
            for c in range(inner):
                dst[j * inner + c] = (
                    tap(w0[j], x[c], masked) + tap(w1[j], x[inner + c], masked)
                    + tap(w2[j], x[2 * inner + c], masked) + tap(w3[j], x[3 * inner + c], masked)
                )
        for t in range(4, width):
            w0 = weights + t * weights_step
            for j in range(begin, end):
                x = src + relative[j] + t * inner
                for c in range(inner):
                    dst[j * inner + c] += tap(w0[j], x[c], masked)


cdef inline void pixels_line(
    const Axis* cols, const Workspace* work, const accumulator* src, accumulator* dst, Py_ssize_t begin, Py_ssize_t end,
    Py_ssize_t inner, bint masked
) noexcept nogil:
    """taps_line for 3 and 4 elements a pixel, four lanes at a time where the neighbouring element is there to touch."""
    cdef const accumulator* weights = <const accumulator*>cols.padded + work.tile_begin
    cdef Py_ssize_t step = cols.output_length
    cdef Py_ssize_t lanes_end = end if IMGOPS_HAS_LANES else begin
    cdef Py_ssize_t room = (work.input_end - work.input_begin) * inner - cols.width * inner - (4 - inner)
    if inner == 3 and lanes_end == work.tile_end - work.tile_begin:
        lanes_end -= 1
    while lanes_end > begin and work.relative[lanes_end - 1] > room:
        lanes_end -= 1
    if lanes_end > begin:
        if accumulator is float:
            float_pixels(src, work.relative, weights, step, cols.width, dst, begin, lanes_end, inner, masked)
        elif accumulator is double:
            double_pixels(src, work.relative, weights, step, cols.width, dst, begin, lanes_end, inner, masked)
        else:
            fixed_pixels(src, work.relative, weights, step, cols.width, dst, begin, lanes_end, inner, masked)
    else:
        lanes_end = begin
    taps_line(src, work.relative, weights, step, cols.width, dst, lanes_end, end, inner, masked)


cdef inline void single_line(
    const Axis* cols, const Workspace* work, const accumulator* src, accumulator* dst, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """taps_line for one element a pixel and no zero weights, by periods where the table has them."""
    cdef const accumulator* weights = <const accumulator*>cols.padded + work.tile_begin
    cdef Py_ssize_t step = cols.output_length
    cdef Py_ssize_t left = begin
    if cols.period:
        if accumulator is float:
            left = float_periodic(
                src, work.relative, weights, step, cols.width, dst, begin, end, cols.period, cols.advance
            )
        elif accumulator is double:
            left = double_periodic(
                src, work.relative, weights, step, cols.width, dst, begin, end, cols.period, cols.advance
            )
        else:
            left = fixed_periodic(
                src, work.relative, weights, step, cols.width, dst, begin, end, cols.period, cols.advance
            )
    taps_line(src, work.relative, weights, step, cols.width, dst, left, end, 1, False)


cdef inline void blocks_line(
    const Job* job, const Workspace* work, const accumulator* src, accumulator* dst
) noexcept nogil:
    cdef Py_ssize_t width = job.cols.width
    cdef bint masked = work.masked_blocks and not job.only_integers
    if accumulator is float:
        float_blocks(
            src, work.windows, work.lanes, <const float*>work.weights, width, job.inner, dst, work.block_begin,
            work.last_block, work.blocks, work.window, masked,
        )
    elif accumulator is double:
        double_blocks(
            src, work.windows, work.lanes, <const double*>work.weights, width, job.inner, dst, work.block_begin,
            work.last_block, work.blocks, work.window, masked,
        )
    else:
        fixed_blocks(
            src, work.windows, work.lanes, <const fixed*>work.weights, width, job.inner, dst, work.block_begin,
            work.last_block, work.blocks, work.window, masked,
        )


cdef inline void single_pixels(
    const Axis* cols, const Workspace* work, const accumulator* src, accumulator* dst, Py_ssize_t begin, Py_ssize_t end,
    Py_ssize_t inner, bint masked
) noexcept nogil:
    """Pixels begin..end without blocks."""
    cdef const accumulator* weights = <const accumulator*>cols.padded + work.tile_begin
    cdef Py_ssize_t step = cols.output_length
    if inner >= 3:
        pixels_line(cols, work, src, dst, begin, end, inner, masked)
    elif inner == 2:
        taps_line(src, work.relative, weights, step, cols.width, dst, begin, end, 2, masked)
    elif masked:
        taps_line(src, work.relative, weights, step, cols.width, dst, begin, end, 1, True)
    else:
        single_line(cols, work, src, dst, begin, end)


cdef inline void padded_line(
    const Job* job, const Workspace* work, const accumulator* src, accumulator* dst
) noexcept nogil:
    cdef const Axis* cols = &job.cols
    cdef Py_ssize_t inner = job.inner
    cdef Py_ssize_t count = work.tile_end - work.tile_begin
    cdef Py_ssize_t core_begin = min(max(cols.core_begin - work.tile_begin, 0), count)
    cdef Py_ssize_t core_end = min(max(cols.core_end - work.tile_begin, core_begin), count)
    if work.masked_blocks:
        blocks_line(job, work, src, dst)
        return
    single_pixels(cols, work, src, dst, 0, core_begin, inner, True)
    if work.blocks:
        blocks_line(job, work, src, dst)
    else:
        single_pixels(cols, work, src, dst, core_begin, core_end, inner, False)
    single_pixels(cols, work, src, dst, core_end, count, inner, True)


cdef inline void uneven_line(
    const Axis* cols, const Workspace* work, const accumulator* src, accumulator* dst, Py_ssize_t inner
) noexcept nogil:
    """Any number of taps per output, runs of `inner` elements at a time."""
    cdef Py_ssize_t j, t, c, first
    cdef const accumulator* weights
    cdef const accumulator* x
    cdef accumulator* y
    cdef accumulator weight
    for j in range(work.tile_begin, work.tile_end):
        weights = <const accumulator*>cols.weights + cols.offsets[j]
        x = src + (cols.starts[j] - work.input_begin) * inner
        y = dst + (j - work.tile_begin) * inner
        first = 0
        while first < cols.counts[j] and weights[first] == 0:
            first += 1
        if first == cols.counts[j]:
            memset(y, 0, inner * sizeof(accumulator))
            continue
        weight = weights[first]
        for c in range(inner):
            y[c] = weight * x[first * inner + c]
        for t in range(first + 1, cols.counts[j]):
            weight = weights[t]
            if weight != 0:
                for c in range(inner):
                    y[c] += weight * x[t * inner + c]


cdef inline void cols_line(
    const Job* job, const Workspace* work, const accumulator* src, accumulator* dst
) noexcept nogil:
    """One row through the table of cols; src begins at the tile's first input."""
    cdef Py_ssize_t j, c
    if job.cols.width == 0 or job.inner > 4:
        uneven_line(&job.cols, work, src, dst, job.inner)
        return
    padded_line(job, work, src, dst)
    # Masked blocks have seen to their own.
    if job.cols.has_empty and not work.masked_blocks:
        for j in range(work.tile_begin, work.tile_end):
            if job.cols.counts[j] == 0:
                for c in range(job.inner):
                    dst[(j - work.tile_begin) * job.inner + c] = 0


cdef inline void pairs_row(
    const Job* job, const Workspace* work, const char* first, const char* second, accumulator* sums, char* means
) noexcept nogil:
    """The tile of one row of bytes through the table of cols, or of two rows to means."""
    cdef Py_ssize_t begin = work.input_begin * job.cols.src_step
    if accumulator is fixed:
        pairs_line(
            first + begin, second + begin if second != NULL else NULL, <const fixed*>job.cols.padded,
            job.cols.output_length, job.cols.width, sums, <word8*>means, (work.tile_end - work.tile_begin) * job.inner,
            job.inner, 2 * job.rows.src_step, job.src_dtype == INT8, job.spare_bits if second != NULL else 0, job.bias,
        )


# ---------------------------------------------------------------------------------------------------------------------
# Along rows


cdef inline void blend_rows(
    const Job* job, const void** rows, const accumulator* weights, int count, accumulator* dst, Py_ssize_t length,
    bint more
) noexcept nogil:
    """dst = weighted sum of `count` rows, added to what is there if `more`; from the first row to the last.

    The rows are sums, or rows of the input where the job blends in.
    """
    if count == 1 and weights[0] == 1 and not more and not job.blends_in:
        memcpy(dst, rows[0], length * sizeof(accumulator))
    elif accumulator is double:
        double_blend(rows, weights, count, dst, length, more)
    elif accumulator is float:
        if not job.blends_in:
            float_blend(rows, weights, count, dst, length, more)
        elif job.src_dtype == UINT8:
            float_blend_word8(rows, weights, count, dst, length, more)
        elif job.src_dtype == INT8:
            float_blend_int8(rows, weights, count, dst, length, more)
        elif job.src_dtype == UINT16:
            float_blend_word16(rows, weights, count, dst, length, more)
        else:
            float_blend_int16(rows, weights, count, dst, length, more)
    else:
        if not job.blends_in:
            fixed_blend(rows, weights, count, dst, length, more)
        elif job.src_dtype == UINT8:
            fixed_blend_word8(rows, weights, count, dst, length, more)
        else:
            fixed_blend_int8(rows, weights, count, dst, length, more)


cdef inline void blend_two(
    const Job* job, const void** rows, int count, const accumulator* weights, int first, accumulator* dst, bint more,
    const accumulator* next_weights, int next_first, accumulator* following, Py_ssize_t length
) noexcept nogil:
    """blend_rows for the rows from `first` on, and those from next_first on, one of which is 0, into `following`."""
    if accumulator is double:
        double_blend_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)
    elif accumulator is float:
        if not job.blends_in:
            float_blend_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)
        elif job.src_dtype == UINT8:
            float_blend_word8_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)
        elif job.src_dtype == INT8:
            float_blend_int8_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)
        elif job.src_dtype == UINT16:
            float_blend_word16_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)
        else:
            float_blend_int16_two(rows, count, weights, first, dst, more, next_weights, next_first, following, length)


cdef inline void blend_to_integers(
    const Job* job, const void** rows, const accumulator* weights, int count, char* dst, Py_ssize_t length
) noexcept nogil:
    """blend_rows for sums, rounded into a row of the output."""
    cdef accumulator raised[4]
    cdef int i
    if accumulator is float:
        if job.dst_dtype == UINT8 or job.dst_dtype == INT8:
            float_blend_to_word8(rows, weights, count, <word8*>dst, length, 0)
        else:
            float_blend_to_word16(rows, weights, count, <word16*>dst, length, 0)
    elif accumulator is fixed:
        for i in range(4):
            raised[i] = weights[i] << job.spare_bits
        fixed_blend_to_word8(rows, raised, count, <word8*>dst, length, job.bias)


# ---------------------------------------------------------------------------------------------------------------------
# Rows in and out


cdef inline void load_any(
    int dtype, const char* src, Py_ssize_t stride, Py_ssize_t count, accumulator* dst
) noexcept nogil:
    if accumulator is fixed:
        if dtype == UINT8:
            load_numbers(<const word8*>src, stride, count, dst)
        else:
            load_numbers(<const any_int8*>src, stride, count, dst)
    else:
        load(dtype, src, stride, count, dst)


cdef inline const accumulator* load_row(
    const Job* job, const Workspace* work, const char* src, accumulator* buffer
) noexcept nogil:
    """The tile's input of one row, as it lies if that will do, else converted into `buffer`."""
    cdef Py_ssize_t count = work.input_end - work.input_begin
    cdef Py_ssize_t i
    src += work.input_begin * job.cols.src_step
    if job.src_direct:
        return <const accumulator*>src
    if job.inner == 1:
        load_any(job.src_dtype, src, job.cols.src_step, count, buffer)
    elif job.cols.src_step == job.inner * job.src_inner_step:
        load_any(job.src_dtype, src, job.src_inner_step, count * job.inner, buffer)
    else:
        for i in range(count):
            load_any(job.src_dtype, src + i * job.cols.src_step, job.src_inner_step, job.inner, buffer + i * job.inner)
    return buffer


cdef inline void store_any(
    const Job* job, const accumulator* src, char* dst, Py_ssize_t stride, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i
    if accumulator is fixed:
        for i in range(count):
            dst[i * stride] = <char>fixed_rounded(<fixed>(src[i] << job.spare_bits), job.bias)
    else:
        store(job.dst_dtype, src, dst, stride, count, job.add)


cdef inline void store_row(const Job* job, const Workspace* work, const accumulator* row, char* dst) noexcept nogil:
    """The tile of a row to where it begins in the output."""
    cdef Py_ssize_t count = work.tile_end - work.tile_begin
    cdef Py_ssize_t i
    cdef const void* rows[4]
    cdef accumulator one[4]
    if accumulator is not double:
        if job.blends_out:
            for i in range(4):
                rows[i] = row
                one[i] = 1
            blend_to_integers(job, rows, one, 1, dst, count * job.inner)
            return
    if job.inner == 1:
        store_any(job, row, dst, job.cols.dst_step, count)
    elif job.cols.dst_step == job.inner * job.dst_inner_step:
        store_any(job, row, dst, job.dst_inner_step, count * job.inner)
    else:
        for i in range(count):
            store_any(job, row + i * job.inner, dst + i * job.cols.dst_step, job.dst_inner_step, job.inner)


cdef inline const void* input_row(
    const Job* job, Workspace* work, const char* src, Py_ssize_t row, accumulator* tag
) noexcept nogil:
    """One row ready for blending: loaded, and through the table of cols unless rows come first. Kept in the ring."""
    cdef const char* line = src + row * job.rows.src_step
    cdef Py_ssize_t slot = row % job.ring
    cdef accumulator* kept = <accumulator*>work.ring + slot * job.ring_row
    cdef const accumulator* loaded
    cdef bint through_cols = job.cols.mapped and not job.rows_first
    if not through_cols and (job.src_direct or job.blends_in):
        return line + work.input_begin * job.cols.src_step
    if work.tags[slot] != row:
        work.tags[slot] = row
        if job.pairs:
            pairs_row(job, work, line, NULL, kept, NULL)
        elif through_cols:
            loaded = load_row(job, work, line, <accumulator*>work.loaded)
            cols_line(job, work, loaded, kept)
        else:
            load_row(job, work, line, kept)
    return kept


cdef inline bint blend_column(
    const Job* job, Workspace* work, const char* src, Py_ssize_t output, accumulator* dst, Py_ssize_t length,
    char* target
) noexcept nogil:
    """dst = the taps of one output row, each row fetched when its turn comes.

    True where they went, rounded, into `target` instead, which is NULL where they may not.
    """
    cdef const accumulator* weights = <const accumulator*>job.rows.weights + job.rows.offsets[output]
    cdef const void* rows[BLENDED_ROWS]
    cdef accumulator nonzero[BLENDED_ROWS]
    cdef int held = 0
    cdef bint more = False
    # Taps that the ring cannot hold together are blended one by one.
    cdef int together = BLENDED_ROWS if job.rows.longest <= MAX_RING else 1
    cdef Py_ssize_t t, i
    for i in range(BLENDED_ROWS):
        rows[i] = NULL
        nonzero[i] = 0
    for t in range(job.rows.counts[output]):
        if weights[t] == 0:
            continue
        if held == together:
            blend_rows(job, rows, nonzero, held, dst, length, more)
            more = True
            held = 0
        rows[held] = input_row(job, work, src, job.rows.starts[output] + t, dst)
        nonzero[held] = weights[t]
        held += 1
    if 0 < held <= 4 and not more and target != NULL:
        blend_to_integers(job, rows, nonzero, held, target, length)
        return True
    if held:
        blend_rows(job, rows, nonzero, held, dst, length, more)
    else:
        memset(dst, 0, length * sizeof(accumulator))
    return False


cdef inline bint reads_all(const Axis* axis, Py_ssize_t output, accumulator* tag) noexcept nogil:
    """Whether no tap of an output has the weight zero, and no more are than are blended at a time."""
    cdef const accumulator* weights = <const accumulator*>axis.weights + axis.offsets[output]
    cdef Py_ssize_t t
    for t in range(axis.counts[output]):
        if weights[t] == 0:
            return False
    return 0 < axis.counts[output] <= BLENDED_ROWS


cdef inline bint shares_rows(const Axis* axis, Py_ssize_t output, accumulator* tag) noexcept nogil:
    """Whether an output and the next one are blended together: both read the last rows of the first one."""
    cdef Py_ssize_t end = axis.starts[output] + axis.counts[output]
    cdef Py_ssize_t next_begin = axis.starts[output + 1]
    return (
        axis.starts[output] <= next_begin and next_begin + 1 < end <= next_begin + axis.counts[output + 1]
        and reads_all(axis, output, tag) and reads_all(axis, output + 1, tag)
    )


cdef inline void blend_columns(
    const Job* job, Workspace* work, const char* src, Py_ssize_t output, Py_ssize_t count, accumulator* dst,
    Py_ssize_t dst_step, Py_ssize_t length
) noexcept nogil:
    """blend_column for `count` outputs. Rows that an output and the next one read are read once for both."""
    cdef const Axis* axis = &job.rows
    cdef const void* rows[BLENDED_ROWS]
    cdef accumulator weights[BLENDED_ROWS]
    cdef accumulator next_weights[BLENDED_ROWS]
    cdef const accumulator* from_axis = <const accumulator*>axis.weights
    # The row from which on the output is left to sum, where `more` rows before it were.
    cdef Py_ssize_t left = 0
    cdef bint more = False
    cdef bint shared
    cdef Py_ssize_t i, k, row, begin, end, next_begin, first
    for i in range(output, output + count):
        begin = axis.starts[i]
        end = begin + axis.counts[i]
        shared = i + 1 < output + count and shares_rows(axis, i, dst)
        if not more:
            left = begin
        if not (shared or more):
            blend_column(job, work, src, i, dst, length, NULL)
        elif shared:
            next_begin = axis.starts[i + 1]
            first = min(left, next_begin)
            for k in range(end - first):
                row = first + k
                rows[k] = input_row(job, work, src, row, dst)
                weights[k] = from_axis[axis.offsets[i] + row - begin] if row >= left else 0
                next_weights[k] = from_axis[axis.offsets[i + 1] + row - next_begin] if row >= next_begin else 0
            blend_two(
                job, rows, <int>(end - first), weights, <int>(left - first), dst, more, next_weights,
                <int>(next_begin - first), dst + dst_step, length,
            )
        else:
            for k in range(end - left):
                rows[k] = input_row(job, work, src, left + k, dst)
                weights[k] = from_axis[axis.offsets[i] + left + k - begin]
            blend_rows(job, rows, weights, <int>(end - left), dst, length, True)
        more = shared
        left = end
        dst += dst_step


cdef inline void fill_row(
    const Job* job, Workspace* work, const char* src, char* dst, Py_ssize_t output, accumulator* tag
) noexcept nogil:
    """The tile of one row of the output, to begin at dst."""
    cdef accumulator* result = <accumulator*>dst if job.dst_direct else <accumulator*>work.result
    cdef accumulator* blended = <accumulator*>work.blended
    cdef Py_ssize_t output_count = (work.tile_end - work.tile_begin) * job.inner
    cdef Py_ssize_t input_count = (work.input_end - work.input_begin) * job.inner
    cdef const accumulator* row
    if job.halves:
        src += job.rows.starts[output] * job.rows.src_step
        pairs_row(job, work, src, src + job.rows.src_step, result, dst)
        return
    if job.rows.mapped and job.rows_first:
        blend_column(job, work, src, output, blended, input_count, NULL)
        cols_line(job, work, blended, result)
    elif job.rows.mapped:
        # Rows of sums only, which those of a job that blends in are not unless they went through cols.
        if blend_column(
            job, work, src, output, result, output_count, dst if job.blends_out and not job.blends_in else NULL
        ):
            return
    elif job.pairs:
        pairs_row(job, work, src + output * job.rows.src_step, NULL, result, NULL)
    elif job.cols.mapped:
        row = load_row(job, work, src + output * job.rows.src_step, <accumulator*>work.loaded)
        cols_line(job, work, row, result)
    else:
        row = load_row(job, work, src + output * job.rows.src_step, <accumulator*>work.loaded)
        if not job.dst_direct:
            store_row(job, work, row, dst)
        else:
            memcpy(result, row, output_count * sizeof(accumulator))
        return
    if not job.dst_direct:
        store_row(job, work, result, dst)


cdef inline void output_row(
    const Job* job, Workspace* work, const char* src, char* dst, Py_ssize_t output, accumulator* tag
) noexcept nogil:
    dst += output * job.rows.dst_step + work.tile_begin * job.cols.dst_step
    if job.streams:
        fill_row(job, work, src, work.streamed, output, tag)
        stream(work.streamed, dst, (work.tile_end - work.tile_begin) * job.cols.dst_step)
    else:
        fill_row(job, work, src, dst, output, tag)


cdef inline void input_range(
    const Axis* axis, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t* first, Py_ssize_t* last
) noexcept nogil:
    """The inputs that outputs begin..end read, padding included; never empty."""
    cdef Py_ssize_t o, start, stop
    if not axis.mapped:
        first[0] = begin
        last[0] = end
        return
    first[0] = axis.input_length
    last[0] = 0
    for o in range(begin, end):
        start = axis.padded_starts[o] if axis.width else axis.starts[o]
        stop = start + (axis.width if axis.width else axis.counts[o])
        first[0] = min(first[0], start)
        last[0] = max(last[0], stop)
    if last[0] <= first[0]:
        first[0] = min(first[0], axis.input_length - 1)
        last[0] = first[0] + 1


cdef inline Py_ssize_t block_lanes(accumulator* tag) noexcept nogil:
    if accumulator is float:
        return float_lanes_of_block
    elif accumulator is double:
        return double_lanes_of_block
    else:
        return fixed_lanes_of_block


cdef inline void across_lines(
    const Job* job, const Workspace* work, const accumulator* src, accumulator* dst, accumulator* tag
) noexcept nogil:
    """cols_line for as many rows as a register has lanes, in parts that stay in the cache."""
    cdef Py_ssize_t inner = job.inner
    cdef Py_ssize_t lanes = block_lanes(tag)
    cdef Py_ssize_t input_begin = work.input_begin * inner
    cdef accumulator* turned = <accumulator*>work.turned
    cdef accumulator* sums = <accumulator*>work.turned_sums
    cdef Py_ssize_t begin = work.tile_begin
    cdef Py_ssize_t end, first, last
    while begin < work.tile_end:
        end = min(begin + job.across_part, work.tile_end)
        input_range(&job.cols, begin, end, &first, &last)
        # Whole cache lines.
        first = input_begin + (first * inner - input_begin) // lanes * lanes
        last *= inner
        if accumulator is float:
            float_turn_rows(src + first - input_begin, work.blended_step, last - first, turned)
            float_across(
                turned, first, job.cols.starts, job.cols.counts, job.cols.offsets, <const float*>job.cols.weights,
                sums, begin, end, inner,
            )
            float_turn_back(sums, dst, work.result_step, (end - begin) * inner)
        elif accumulator is double:
            double_turn_rows(src + first - input_begin, work.blended_step, last - first, turned)
            double_across(
                turned, first, job.cols.starts, job.cols.counts, job.cols.offsets, <const double*>job.cols.weights,
                sums, begin, end, inner,
            )
            double_turn_back(sums, dst, work.result_step, (end - begin) * inner)
        dst += (end - begin) * inner
        begin = end


cdef inline void output_rows_across(
    const Job* job, Workspace* work, const char* src, char* dst, Py_ssize_t output, Py_ssize_t count, accumulator* tag
) noexcept nogil:
    """`count` rows from `output` on, no more than a register has lanes; what the other lanes hold is not stored."""
    cdef Py_ssize_t output_count = (work.tile_end - work.tile_begin) * job.inner
    cdef Py_ssize_t input_count = (work.input_end - work.input_begin) * job.inner
    cdef accumulator* blended = <accumulator*>work.blended
    cdef accumulator* result = <accumulator*>work.result
    cdef const accumulator* loaded
    cdef char* target
    cdef char* row
    cdef Py_ssize_t i
    if job.rows.mapped:
        blend_columns(job, work, src, output, count, blended, work.blended_step, input_count)
    else:
        for i in range(count):
            loaded = load_row(job, work, src + (output + i) * job.rows.src_step, blended)
            if loaded != blended:
                memcpy(blended, loaded, input_count * sizeof(accumulator))
            blended += work.blended_step
    across_lines(job, work, <accumulator*>work.blended, result, tag)
    for i in range(count):
        target = dst + (output + i) * job.rows.dst_step + work.tile_begin * job.cols.dst_step
        row = work.streamed if job.streams else target
        if job.dst_direct:
            memcpy(row, result, output_count * sizeof(accumulator))
        else:
            store_row(job, work, result, row)
        if job.streams:
            stream(row, target, (work.tile_end - work.tile_begin) * job.cols.dst_step)
        result += work.result_step


cdef inline bint goes_by_blocks(const Job* job, accumulator* tag) noexcept nogil:
    return (
        block_lanes(tag) > 0 and job.cols.mapped and 0 < job.cols.width <= BLOCK_TAPS and job.inner <= 4
        and not job.pairs and not job.across and not (job.inner == 1 and job.cols.period)
        and job.rows.output_length * job.outer_count >= BLOCK_LINES
    )


cdef inline Py_ssize_t block_place(const Workspace* work, Py_ssize_t size, Py_ssize_t block) noexcept nogil:
    return min(max((work.block_begin // size + block) * size, work.block_begin), work.last_block)


cdef inline bint blocks_fit(const Job* job, Workspace* work, Py_ssize_t size) noexcept nogil:
    """Whether every block finds its inputs in a window of the kind work.window, which stands within the row."""
    cdef Py_ssize_t inner = job.inner
    cdef Py_ssize_t room = size if work.window == ONE_WINDOW else 2 * size
    # How far the last tap is behind the first one, and how far the window moves.
    cdef Py_ssize_t reach = (job.cols.width - 1) * inner
    cdef Py_ssize_t moves = reach if work.window == WINDOW_PER_TAP else 0
    cdef Py_ssize_t last_window = (work.input_end - work.input_begin) * inner - room - moves
    cdef Py_ssize_t block, place, last
    if last_window < 0:
        return False
    for block in range(work.blocks):
        place = block_place(work, size, block)
        # Pixels never go back.
        work.windows[block] = <int32_t>min(<Py_ssize_t>work.relative[place // inner], last_window)
        last = work.relative[(place + size - 1) // inner] + inner - 1 + reach - moves
        if last - work.windows[block] >= room:
            return False
    return True


cdef inline void plan_blocks(const Job* job, Workspace* work, accumulator* tag) noexcept nogil:
    """Blocks of the tile's core; none where one would read more than its window, or where rows are too short."""
    cdef const accumulator* padded = <const accumulator*>job.cols.padded + work.tile_begin
    cdef accumulator* weights = <accumulator*>work.weights
    cdef Py_ssize_t size = block_lanes(tag)
    cdef Py_ssize_t count = work.tile_end - work.tile_begin
    cdef Py_ssize_t begin = min(max(job.cols.core_begin - work.tile_begin, 0), count)
    cdef Py_ssize_t end = min(max(job.cols.core_end - work.tile_begin, begin), count)
    # Zeros all over, as in gradients of reductions.
    cdef bint masked = end - begin < count // 2
    cdef Py_ssize_t block, lane, pixel, c, t
    cdef int32_t pixel_of[MAX_LANES]
    if masked:
        begin, end = 0, count
    work.block_begin = begin * job.inner
    work.last_block = end * job.inner - size
    if work.last_block < work.block_begin:
        return
    work.blocks = (work.last_block - work.block_begin // size * size + size - 1) // size + 1
    work.window = ONE_WINDOW
    while not blocks_fit(job, work, size):
        if work.window == WINDOW_PER_TAP:
            work.blocks = 0
            return
        work.window += 1
    work.masked_blocks = masked
    for block in range(work.blocks):
        pixel = block_place(work, size, block)
        c = pixel % job.inner
        pixel = pixel // job.inner
        for lane in range(size):
            pixel_of[lane] = <int32_t>pixel
            work.lanes[block * size + lane] = <uint8_t>(work.relative[pixel] + c - work.windows[block])
            c += 1
            if c == job.inner:
                c = 0
                pixel += 1
        for t in range(job.cols.width):
            for lane in range(size):
                weights[lane] = padded[t * job.cols.output_length + pixel_of[lane]]
            weights += size


cdef inline void enter_tile(const Job* job, Workspace* work, Py_ssize_t tile, accumulator* tag) noexcept nogil:
    cdef Py_ssize_t j
    work.tile_begin = tile * job.tile
    work.tile_end = min(work.tile_begin + job.tile, job.cols.output_length)
    input_range(&job.cols, work.tile_begin, work.tile_end, &work.input_begin, &work.input_end)
    work.blocks = 0
    work.masked_blocks = False
    if job.cols.mapped and job.cols.width:
        for j in range(work.tile_begin, work.tile_end):
            work.relative[j - work.tile_begin] = <int32_t>(
                (job.cols.padded_starts[j] - work.input_begin) * job.inner
            )
        if goes_by_blocks(job, tag):
            plan_blocks(job, work, tag)


cdef inline bint goes_across(const Job* job, accumulator* tag) noexcept nogil:
    """Whether rows that are ready for the table of cols go through it side by side."""
    cdef Py_ssize_t lanes = 0 if accumulator is fixed else block_lanes(tag)
    cdef Py_ssize_t rows = job.rows.output_length
    # Blocks find many taps of few pixels in a register; periods need not look for them.
    cdef bint in_blocks = 0 < job.cols.width <= BLOCK_TAPS and job.cols.input_length <= 2 * job.cols.output_length
    cdef bint in_periods = job.inner == 1 and job.cols.period > 0
    if lanes == 0 or not job.cols.mapped or job.rows.mapped and not job.rows_first:
        return False
    # All inputs are turned, read or not, and all lanes of the last rows computed.
    if job.cols.longest * job.cols.output_length < job.cols.input_length or job.cols.longest * job.inner > ACROSS_INPUT:
        return False
    if 3 * lanes * ((rows - 1) // lanes + 1) > 4 * rows:
        return False
    if job.inner > 4:
        return job.inner < 2 * lanes
    return job.cols.longest >= ACROSS_TAPS and not (in_blocks or in_periods)


cdef inline Py_ssize_t padded_bytes(Py_ssize_t size) noexcept nogil:
    # Whole cache lines, and one between neighbours.
    return (size + 2 * LINE - 1) // LINE * LINE


cdef inline Py_ssize_t buffer_bytes(const Job* job, Py_ssize_t elements, accumulator* tag) noexcept nogil:
    return padded_bytes(elements * job.inner * <Py_ssize_t>sizeof(accumulator))


cdef inline Py_ssize_t across_step(Py_ssize_t elements, accumulator* tag) noexcept nogil:
    # Whole cache lines, an odd number of them: the same elements of all rows are in different sets of the cache.
    cdef Py_ssize_t line = LINE // <Py_ssize_t>sizeof(accumulator)
    return ((elements + line - 1) // line | 1) * line


cdef inline Py_ssize_t workspace_bytes(const Job* job, Workspace* work, char* memory, accumulator* tag) noexcept nogil:
    """Bytes of a workspace; its buffers are laid out from `memory` on."""
    cdef char* at = memory
    cdef Py_ssize_t size = block_lanes(tag)
    cdef Py_ssize_t blocks
    work.ring = at
    at += padded_bytes(job.ring * job.ring_row * <Py_ssize_t>sizeof(accumulator))
    work.loaded = at
    at += buffer_bytes(job, job.tile_input, tag)
    if job.across:
        work.blended_step = across_step(job.tile_input * job.inner, tag)
        # What is turned back goes beyond the last element.
        work.result_step = across_step(job.tile * job.inner + size, tag)
        work.blended = at
        at += padded_bytes(size * work.blended_step * <Py_ssize_t>sizeof(accumulator))
        work.result = at
        at += padded_bytes(size * work.result_step * <Py_ssize_t>sizeof(accumulator))
        work.turned = at
        at += padded_bytes(size * (job.across_input * job.inner + 2 * size) * <Py_ssize_t>sizeof(accumulator))
        work.turned_sums = at
        at += padded_bytes(size * (job.across_part * job.inner + size) * <Py_ssize_t>sizeof(accumulator))
    else:
        work.blended = at
        at += buffer_bytes(job, job.tile_input, tag)
        work.result = at
        at += buffer_bytes(job, job.tile, tag)
    work.streamed = at
    if job.streams:
        at += padded_bytes(job.tile * job.cols.dst_step)
    work.relative = <int32_t*>at
    at += padded_bytes(job.tile * <Py_ssize_t>sizeof(int32_t))
    if goes_by_blocks(job, tag):
        work.windows = <int32_t*>at
        blocks = job.tile * job.inner // size + 2
        at += padded_bytes(blocks * <Py_ssize_t>sizeof(int32_t))
        work.lanes = <uint8_t*>at
        at += padded_bytes(blocks * size)
        work.weights = at
        at += padded_bytes(blocks * size * job.cols.width * <Py_ssize_t>sizeof(accumulator))
    return at - memory


cdef void resample_part(const Job* job, char* memory, int part, int parts, accumulator* tag) noexcept nogil:
    """The units of one thread: tiles slowest, then outer, rows of out fastest."""
    cdef Py_ssize_t unit = job.units * part // parts
    cdef Py_ssize_t end = job.units * (part + 1) // parts
    cdef Workspace work
    cdef Py_ssize_t tile = -1
    cdef Py_ssize_t outer, rest, row, i
    cdef const char* src
    cdef char* dst
    cdef Py_ssize_t lanes = block_lanes(tag)
    workspace_bytes(job, &work, memory, tag)
    if job.across:
        # Lanes without a row are computed as well.
        memset(work.blended, 0, lanes * work.blended_step * sizeof(accumulator))
    while unit < end:
        rest = unit // job.rows.output_length
        if rest // job.outer_count != tile:
            tile = rest // job.outer_count
            enter_tile(job, &work, tile, tag)
        outer = rest % job.outer_count
        src = job.src
        dst = job.dst
        for i in range(job.outer_rank - 1, -1, -1):
            src += outer % job.outer_length[i] * job.outer_src_step[i]
            dst += outer % job.outer_length[i] * job.outer_dst_step[i]
            outer //= job.outer_length[i]
        for i in range(MAX_RING):
            work.tags[i] = -1
        row = unit % job.rows.output_length
        rest = min(job.rows.output_length - row, end - unit)
        unit += rest
        i = 0
        while i < rest:
            if job.across:
                output_rows_across(job, &work, src, dst, row + i, min(lanes, rest - i), tag)
                i += lanes
            else:
                output_row(job, &work, src, dst, row + i, tag)
                i += 1
    if job.streams:
        finish_streams()


# ---------------------------------------------------------------------------------------------------------------------
# Setting up


cdef void set_axis(Axis* axis, const Py_buffer* src, const Py_buffer* dst, int number, Table table) except *:
    """The axis `number` of both operands with its table; length 1 and no table where number is -1."""
    axis.mapped = table is not None
    axis.input_length = src.shape[number] if number >= 0 else 1
    axis.output_length = dst.shape[number] if number >= 0 else 1
    axis.src_step = src.strides[number] if number >= 0 else 0
    axis.dst_step = dst.strides[number] if number >= 0 else 0
    axis.width = 0
    axis.longest = 1
    axis.period = 0
    if table is None:
        return
    axis.starts = &table.starts[0]
    axis.counts = &table.counts[0]
    axis.offsets = &table.offsets[0]
    axis.width = table.width
    axis.core_begin = table.core_begin
    axis.core_end = table.core_end
    axis.period = table.period
    axis.advance = table.advance
    axis.has_empty = table.has_empty
    axis.shift = table.shift
    axis.weights = NULL
    if table.itemsize == 2:
        if table.weights16.shape[0]:
            axis.weights = &table.weights16[0]
        axis.padded = &table.padded16[0, 0] if table.width else NULL
    elif table.itemsize == 4:
        if table.weights32.shape[0]:
            axis.weights = &table.weights32[0]
        axis.padded = &table.padded32[0, 0] if table.width else NULL
    else:
        if table.weights64.shape[0]:
            axis.weights = &table.weights64[0]
        axis.padded = &table.padded64[0, 0] if table.width else NULL
    axis.padded_starts = &table.padded_starts[0] if table.width else NULL
    cdef Py_ssize_t o
    for o in range(axis.output_length):
        axis.longest = max(axis.longest, axis.counts[o])


cdef struct Plain:
    # Unresampled axes, largest step first, merged.
    int rank
    Py_ssize_t length[MAX_AXES + 1]
    Py_ssize_t src_step[MAX_AXES + 1]
    Py_ssize_t dst_step[MAX_AXES + 1]


cdef void add_plain(Plain* plain, Py_ssize_t length, Py_ssize_t src_step, Py_ssize_t dst_step) noexcept nogil:
    cdef int at = plain.rank
    if length == 1:
        return
    while at > 0 and magnitude(plain.dst_step[at - 1]) < magnitude(dst_step):
        plain.length[at] = plain.length[at - 1]
        plain.src_step[at] = plain.src_step[at - 1]
        plain.dst_step[at] = plain.dst_step[at - 1]
        at -= 1
    plain.length[at] = length
    plain.src_step[at] = src_step
    plain.dst_step[at] = dst_step
    plain.rank += 1


cdef void merge_plain(Plain* plain) noexcept nogil:
    cdef int kept = 0
    cdef int at
    for at in range(1, plain.rank):
        if (
            plain.src_step[kept] == plain.src_step[at] * plain.length[at]
            and plain.dst_step[kept] == plain.dst_step[at] * plain.length[at]
        ):
            plain.length[kept] *= plain.length[at]
        else:
            kept += 1
            plain.length[kept] = plain.length[at]
        plain.src_step[kept] = plain.src_step[at]
        plain.dst_step[kept] = plain.dst_step[at]
    if plain.rank:
        plain.rank = kept + 1


cdef void place_axes(Job* job, Plain* plain, bint single) noexcept nogil:
    """Give the plain axes their places: inside cols as `inner`, or, beside a single table, as rows or cols; else outer.

    `single`: the one mapped axis stands in cols and rows are free.
    """
    cdef int last = plain.rank - 1
    cdef int at
    if last >= 0 and magnitude(plain.dst_step[last]) < magnitude(job.cols.dst_step):
        if single and plain.length[last] >= MIN_ROW:
            job.rows = job.cols
            job.cols.mapped = False
            job.cols.width = 0
            job.cols.longest = 1
            job.cols.input_length = plain.length[last]
            job.cols.output_length = plain.length[last]
            job.cols.src_step = plain.src_step[last]
            job.cols.dst_step = plain.dst_step[last]
            single = False
        else:
            job.inner = plain.length[last]
            job.src_inner_step = plain.src_step[last]
            job.dst_inner_step = plain.dst_step[last]
        plain.rank -= 1
        last -= 1
    if single and last >= 0:
        # Rows without a table: the innermost of what is left.
        job.rows.input_length = plain.length[last]
        job.rows.output_length = plain.length[last]
        job.rows.src_step = plain.src_step[last]
        job.rows.dst_step = plain.dst_step[last]
        plain.rank -= 1
    job.outer_rank = plain.rank
    job.outer_count = 1
    for at in range(plain.rank):
        job.outer_length[at] = plain.length[at]
        job.outer_src_step[at] = plain.src_step[at]
        job.outer_dst_step[at] = plain.dst_step[at]
        job.outer_count *= plain.length[at]


cdef Py_ssize_t longest_input(const Axis* axis, Py_ssize_t tile, Py_ssize_t part) noexcept nogil:
    """The most inputs that `part` outputs of a tile read, from its begin on."""
    cdef Py_ssize_t longest = 1
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t end, first, last
    while begin < axis.output_length:
        end = min(begin + part, min(begin // tile * tile + tile, axis.output_length))
        input_range(axis, begin, end, &first, &last)
        longest = max(longest, last - first)
        begin = end
    return longest


cdef void plan_tiles(Job* job) noexcept nogil:
    cdef Py_ssize_t limit = ACROSS_INPUT if job.across else TILE_INPUT
    job.tile = job.cols.output_length
    if not job.across:
        # The weights of blocks, too, are to stay in the cache.
        job.tile = min(max(2 * TILE // (job.inner * max(job.cols.width, <Py_ssize_t>2)), 1), job.tile)
    job.tile_input = longest_input(&job.cols, job.tile, job.tile)
    while job.tile > 1 and job.tile_input * job.inner > limit:
        job.tile = (job.tile + 1) // 2
        job.tile_input = longest_input(&job.cols, job.tile, job.tile)
    if job.across:
        job.across_part = max(ACROSS_PART * job.cols.output_length // (job.cols.input_length * job.inner), 1)
        job.across_part = min(job.across_part, job.tile)
        job.across_input = longest_input(&job.cols, job.tile, job.across_part)
    job.tiles = (job.cols.output_length + job.tile - 1) // job.tile
    job.units = job.tiles * job.outer_count * job.rows.output_length
    job.ring = min(job.rows.longest, <Py_ssize_t>MAX_RING)
    # Whole cache lines of any accumulator.
    job.ring_row = (job.tile if job.cols.mapped and not job.rows_first else job.tile_input) * job.inner
    job.ring_row = (job.ring_row + 31) // 32 * 32


cdef bint is_packed(Py_ssize_t step, Py_ssize_t inner, Py_ssize_t inner_step, Py_ssize_t size) noexcept nogil:
    """Whether the elements of a row stand side by side."""
    return step == size if inner == 1 else (inner_step == size and step == inner * size)


cdef bint halves_exactly(const Axis* axis) noexcept nogil:
    """Whether every output reads two inputs further on than the one before it, by the same weights without a zero."""
    return (
        axis.mapped and axis.period == 1 and axis.advance == 2 and axis.width <= 4 and axis.shift < FIXED_BITS
        and axis.core_begin == 0 and axis.core_end == axis.output_length
    )


cdef inline Py_ssize_t blended_size(int dtype) noexcept nogil:
    """Bytes of an integer that blends read and write; 0 of anything else."""
    if dtype == UINT8 or dtype == INT8:
        return 1
    if dtype == UINT16 or dtype == INT16:
        return 2
    return 0


cdef bint is_direct(
    int dtype, int wanted, const char* data, Py_ssize_t rows_step, Py_ssize_t step, Py_ssize_t inner,
    Py_ssize_t inner_step, const Py_ssize_t* outer_steps, int outer_rank, Py_ssize_t size
) noexcept nogil:
    """Whether every row is a contiguous and aligned row of the accumulator's type."""
    cdef size_t misaligned = <size_t>data | <size_t>rows_step
    cdef int i
    for i in range(outer_rank):
        misaligned |= <size_t>outer_steps[i]
    return dtype == wanted and misaligned % <size_t>size == 0 and is_packed(step, inner, inner_step, size)


cdef int resample_as(Job* job, int num_threads, accumulator* tag) except -1:
    cdef Py_ssize_t size = sizeof(accumulator)
    cdef int wanted = FLOAT32 if accumulator is float else FLOAT64
    cdef Workspace work
    cdef Py_ssize_t bytes_moved, part_bytes
    cdef int part, threads
    cdef char* memory
    cdef char* aligned
    with nogil:
        # No array is of the type `fixed`, and no integer is summed in double but those that blends do not know.
        if accumulator is fixed:
            wanted = -1
        job.src_direct = is_direct(
            job.src_dtype, wanted, job.src, job.rows.src_step, job.cols.src_step, job.inner, job.src_inner_step,
            job.outer_src_step, job.outer_rank, size
        )
        job.dst_direct = not job.add and is_direct(
            job.dst_dtype, wanted, job.dst, job.rows.dst_step, job.cols.dst_step, job.inner, job.dst_inner_step,
            job.outer_dst_step, job.outer_rank, size
        )
        # Sums of `fixed` are exact in any order.
        job.pairs = (
            accumulator is fixed and pairs_lanes > 0 and halves_exactly(&job.cols) and job.inner <= 4
            and is_packed(job.cols.src_step, job.inner, job.src_inner_step, 1)
        )
        job.rows_first = job.rows_first and not job.pairs
        job.blends_in = (
            accumulator is not double and job.rows.mapped and (job.rows_first or not job.cols.mapped)
            and blended_size(job.src_dtype)
            and is_packed(job.cols.src_step, job.inner, job.src_inner_step, blended_size(job.src_dtype))
        )
        job.blends_out = (
            accumulator is not double and job.is_mean and blended_size(job.dst_dtype)
            and is_packed(job.cols.dst_step, job.inner, job.dst_inner_step, blended_size(job.dst_dtype))
        )
        job.only_integers = blended_size(job.src_dtype) and blended_size(job.dst_dtype)
        job.bias = 128 << FIXED_BITS if job.dst_dtype == INT8 else 0
        job.halves = (
            job.pairs and job.cols.width == 2 and job.blends_out and halves_exactly(&job.rows) and job.rows.shift == 1
        )
        job.streams = job.streams and is_packed(job.cols.dst_step, job.inner, job.dst_inner_step, job.dst_size)
        job.across = goes_across(job, tag)
        plan_tiles(job)
        bytes_moved = size * job.inner * job.outer_count * (
            job.rows.input_length * job.cols.input_length + job.rows.output_length * job.cols.output_length
        )
        # Narrow rows take what their setting up takes.
        bytes_moved = max(bytes_moved, ROW_BYTES * job.units)
        threads = <int>max(1, min(<Py_ssize_t>num_threads, min(job.units, bytes_moved // BYTES_PER_THREAD)))
        part_bytes = workspace_bytes(job, &work, NULL, tag)
        # Registers stored across cache lines take twice as long: buffers begin at one.
        memory = <char*>malloc(part_bytes * threads + LINE)
        aligned = memory + (LINE - <size_t>memory % LINE)
    if memory == NULL:
        raise MemoryError(f"resample: no memory for {part_bytes * threads} bytes of row buffers")
    with nogil:
        if threads == 1:
            resample_part(job, aligned, 0, 1, tag)
        else:
            for part in prange(threads, num_threads=threads, schedule="static"):
                resample_part(job, aligned + part * part_bytes, part, threads, tag)
        free(memory)
    return 0


def resample(
    x, Table first, Table second, out, int first_axis, int second_axis, int src_dtype, int dst_dtype, int parts,
    int itemsize, bint add, bint fresh, int num_threads
):
    """Apply up to two tables to x, first before second, and write (or add) the result to out.

    first_axis and second_axis are the axes of the tables; a table may be None, the second one with axis -1. `parts` is
    2 for complex items, which are resampled part by part. The dtypes are codes of _types.pxd, of a part. itemsize is
    that of the tables' weights: 2 for `fixed`, which takes 8-bit integers to the same, 4 for float, 8 for double.
    `fresh`: see _streams.h.
    """
    cdef Py_buffer source
    cdef Py_buffer target
    cdef Job job
    cdef Plain plain
    cdef int axis
    PyObject_GetBuffer(x, &source, PyBUF_STRIDES)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_STRIDES | PyBUF_WRITABLE)
    except BaseException:
        PyBuffer_Release(&source)
        raise
    try:
        job.src = <const char*>source.buf
        job.dst = <char*>target.buf
        job.src_dtype = src_dtype
        job.dst_dtype = dst_dtype
        job.dst_size = target.itemsize // parts
        job.add = add
        job.streams = IMGOPS_HAS_STREAMS and not (add or fresh) and target.len >= STREAM_BYTES
        job.inner = 1
        job.src_inner_step = 0
        job.dst_inner_step = 0
        job.rows_first = False
        # A table that is None is the identity, whose results are means, but an integer may also come of a float.
        job.is_mean = src_dtype == dst_dtype and (first is None or first.is_mean) and (
            second is None or second.is_mean
        )
        job.spare_bits = FIXED_BITS
        job.spare_bits -= first.shift if first is not None else 0
        job.spare_bits -= second.shift if second is not None else 0
        if second is None:
            set_axis(&job.cols, &source, &target, first_axis, first)
            set_axis(&job.rows, &source, &target, -1, None)
        elif magnitude(target.strides[first_axis]) >= magnitude(target.strides[second_axis]):
            job.rows_first = True
            set_axis(&job.rows, &source, &target, first_axis, first)
            set_axis(&job.cols, &source, &target, second_axis, second)
        else:
            set_axis(&job.cols, &source, &target, first_axis, first)
            set_axis(&job.rows, &source, &target, second_axis, second)
        plain.rank = 0
        for axis in range(source.ndim):
            if axis != first_axis and axis != second_axis:
                add_plain(&plain, source.shape[axis], source.strides[axis], target.strides[axis])
        if parts > 1:
            add_plain(&plain, parts, source.itemsize // parts, target.itemsize // parts)
        merge_plain(&plain)
        place_axes(&job, &plain, second is None)
        if itemsize == 2:
            resample_as(&job, num_threads, <fixed*>NULL)
        elif itemsize == 4:
            resample_as(&job, num_threads, <float*>NULL)
        else:
            resample_as(&job, num_threads, <double*>NULL)
    finally:
        PyBuffer_Release(&source)
        PyBuffer_Release(&target)


def nearest(x, tuple tables, out, bint fresh, int num_threads):
    """out[i0, i1, ...] = x[tables[0][i0], tables[1][i1], ...]; a table that is None is the identity.

    `fresh`: see _streams.h.
    """
    cdef Py_buffer source
    cdef Py_buffer target
    cdef Move move
    cdef int axis, part, threads
    cdef const int64_t[::1] table
    PyObject_GetBuffer(x, &source, PyBUF_STRIDES)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_STRIDES | PyBUF_WRITABLE)
    except BaseException:
        PyBuffer_Release(&source)
        raise
    try:
        move.src = <const char*>source.buf
        move.dst = <char*>target.buf
        move.rank = 0
        move.kind = RUNS
        move.src_item = source.itemsize
        move.dst_item = target.itemsize
        move.add = False
        move.fresh = fresh
        for axis in range(source.ndim):
            if tables[axis] is None:
                add_axis(&move, target.shape[axis], source.strides[axis], target.strides[axis], NULL)
            else:
                # `tables` keeps the array alive beyond this view of it.
                table = tables[axis]
                add_axis(&move, target.shape[axis], source.strides[axis], target.strides[axis], &table[0])
        with nogil:
            plan_move(&move)
            threads = move_threads(&move, source.len + target.len, num_threads)
            if threads == 1:
                move_part(&move, 0, 1)
            else:
                for part in prange(threads, num_threads=threads, schedule="static"):
                    move_part(&move, part, threads)
            release_move(&move)
    finally:
        PyBuffer_Release(&source)
        PyBuffer_Release(&target)
