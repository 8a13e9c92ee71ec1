# Moves: elements copied byte for byte between two strided views, for depth <-> space and nearest.
#
#   dst[i0, i1, ...] = src[pick(i0), pick(i1), ...]      pick(i) = index[i] where the axis has a table, else i
#
# The axes are sorted by the step in dst, merged where both sides allow, and the last one or two become the line, for
# which the fitting loop is chosen once. The other axes are counted through by lines; threads share the lines in
# contiguous parts, so every element of dst is written by one thread. Alignment and dtype do not matter: elements are
# words or runs of bytes. Zero-length axes and overlapping operands are not handled: faces return early or copy first.
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset

from _types cimport (
    FLOAT64, MAX_AXES, accumulator, copy_words, load, magnitude, store, word, word8, word16, word32, word64,
)

cdef extern from "_shuffles.h" nogil:
    Py_ssize_t block_bytes(int unit)
    void shuffle_blocks(
        const char* src, char* dst, Py_ssize_t length, const Py_ssize_t* offsets, const uint8_t* controls, int windows,
        int unit
    )
    const int IMGOPS_MAX_BLOCKS
    const int IMGOPS_MAX_BLOCK_WINDOWS
    void shuffle_repeats(
        const char* src, Py_ssize_t src_step, char* dst, Py_ssize_t dst_step, Py_ssize_t count,
        const Py_ssize_t* offsets, const uint8_t* controls, int blocks, int windows, int unit
    )
    const int IMGOPS_HAS_TRANSPOSES
    void transpose_words(
        const char* src, Py_ssize_t src_step, const Py_ssize_t* rows, Py_ssize_t row_count, char* dst,
        Py_ssize_t dst_step, const Py_ssize_t* columns, Py_ssize_t column_count, Py_ssize_t count, Py_ssize_t size
    )

cdef extern from "_streams.h" nogil:
    const bint IMGOPS_HAS_STREAMS
    const Py_ssize_t STREAM_BYTES
    void stream(const void* src, void* dst, Py_ssize_t size)
    void finish_streams()

cdef enum:
    MOVE_AXES = MAX_AXES + 4
    # Elements of a line's repeating pattern for which offsets are kept on the stack.
    PATTERN = 256
    # Numbers converted at once on the stack.
    CHUNK = 256
    # Elements of a row from which on interleaving it pays.
    LONG_ROW = 16
    # The most lanes of a shuffled block, and the most windows that it may have.
    MAX_LANES = 32
    MAX_WINDOWS = 8
    # Repeats of a line from which on it pays to hold controls in registers.
    MIN_REPEATS = 8
    # The longest runs that are shuffled.
    MAX_SHUFFLED_RUN = 32
    # Bytes of src that a piece of a line spans, where other lines read what it leaves between its items.
    PIECE = 8192
    # Bytes of a side of a transposed tile.
    TILE = 16
    # Bytes of a line of the cache.
    LINE = 64
    # Bytes of a line of picks, lines of it, and bytes of all of them, for which windows pay; runs gain less by them.
    MAX_PICKED = 1048576
    MIN_LINES = 8
    MIN_SHUFFLED = 2048
    MIN_SHUFFLED_RUNS = 32768
    # Bytes under which another thread does not pay.
    BYTES_PER_THREAD = 131072
    # Bytes of lines that are long enough, and short enough, to be made in the cache before they go past it.
    MIN_STREAMED = 1024
    MAX_STREAMED = 262144

cdef enum:
    RUNS = 0          # one or two axes, items at any steps
    PICKS = 1         # one axis with an index table
    INTERLEAVE = 2    # two axes: several contiguous rows of src into one of dst
    DEINTERLEAVE = 3  # two axes: one contiguous row of src into several of dst
    PATTERNS = 4      # one axis of equal patterns of items, each contiguous in dst
    NUMBERS = 5       # one axis of numbers converted, or added to dst
    TRANSPOSES = 6    # one axis of matrices whose rows are contiguous in src and whose columns are in dst

cdef struct Move:
    const char* src
    char* dst
    int rank
    Py_ssize_t length[MOVE_AXES]
    Py_ssize_t src_step[MOVE_AXES]
    Py_ssize_t dst_step[MOVE_AXES]
    const int64_t* index[MOVE_AXES]
    Py_ssize_t src_item
    Py_ssize_t dst_item
    int src_dtype
    int dst_dtype
    bint add
    bint fresh
    int kind
    int line_axes
    Py_ssize_t lines
    Py_ssize_t pattern
    Py_ssize_t offsets[PATTERN]
    # Of transposes: `pattern` rows begin at offsets from the matrix in src, `column_count` columns at `columns` in dst.
    Py_ssize_t columns[PATTERN]
    Py_ssize_t column_count
    # Of lines in pieces: the axis that counts the pieces, or -1, and the items of the last piece.
    int piece_axis
    Py_ssize_t last_piece
    # Bytes of a row of a line that goes past the caches, or 0; lines that are deinterleaved have several rows.
    Py_ssize_t streamed
    Py_ssize_t streamed_rows
    # Of picks and patterns, or NULL: the windows of one repeat of a line, see _shuffles.h. What is left of a line goes
    # item by item. `blocks` is 0 where there are too many for shuffle_repeats.
    Py_ssize_t* window_offsets
    uint8_t* window_controls
    int windows
    int unit
    int blocks
    Py_ssize_t repeat_bytes
    Py_ssize_t repeat_items


cdef inline void insert_axis(
    Move* move, int place, Py_ssize_t length, Py_ssize_t src_step, Py_ssize_t dst_step, const int64_t* index
) noexcept nogil:
    cdef int at = move.rank
    while at > place:
        move.length[at] = move.length[at - 1]
        move.src_step[at] = move.src_step[at - 1]
        move.dst_step[at] = move.dst_step[at - 1]
        move.index[at] = move.index[at - 1]
        at -= 1
    move.length[at] = length
    move.src_step[at] = src_step
    move.dst_step[at] = dst_step
    move.index[at] = index
    move.rank += 1


cdef inline void add_axis(
    Move* move, Py_ssize_t length, Py_ssize_t src_step, Py_ssize_t dst_step, const int64_t* index
) noexcept nogil:
    """Add an axis at its place by dst_step, largest first. Axes of length 1 move the origin or nothing."""
    cdef int place = move.rank
    if length == 1:
        if index != NULL:
            move.src += index[0] * src_step
        return
    while place > 0 and magnitude(move.dst_step[place - 1]) < magnitude(dst_step):
        place -= 1
    insert_axis(move, place, length, src_step, dst_step, index)


cdef inline void remove_axis(Move* move, int at) noexcept nogil:
    cdef int i
    move.rank -= 1
    for i in range(at, move.rank):
        move.length[i] = move.length[i + 1]
        move.src_step[i] = move.src_step[i + 1]
        move.dst_step[i] = move.dst_step[i + 1]
        move.index[i] = move.index[i + 1]


cdef inline void merge_axes(Move* move) noexcept nogil:
    cdef int outer = 0
    cdef Py_ssize_t inner_length
    while outer + 1 < move.rank:
        inner_length = move.length[outer + 1]
        if (
            move.index[outer] == NULL and move.index[outer + 1] == NULL
            and move.src_step[outer] == move.src_step[outer + 1] * inner_length
            and move.dst_step[outer] == move.dst_step[outer + 1] * inner_length
        ):
            move.length[outer + 1] *= move.length[outer]
            remove_axis(move, outer)
            # The merged axis may now merge with the one before it.
            outer = outer - 1 if outer > 0 else 0
        else:
            outer += 1


cdef inline void swap_axes(Move* move, int a, int b) noexcept nogil:
    move.length[a], move.length[b] = move.length[b], move.length[a]
    move.src_step[a], move.src_step[b] = move.src_step[b], move.src_step[a]
    move.dst_step[a], move.dst_step[b] = move.dst_step[b], move.dst_step[a]
    move.index[a], move.index[b] = move.index[b], move.index[a]


cdef inline void sort_axes_by_src(Move* move, int axes) noexcept nogil:
    """Sort the first axes by the step in src, so that src is read from one end to the other."""
    cdef int end, at
    for end in range(1, axes):
        at = end
        while at > 0 and magnitude(move.src_step[at - 1]) < magnitude(move.src_step[at]):
            swap_axes(move, at - 1, at)
            at -= 1


cdef inline bint is_word(Py_ssize_t item) noexcept nogil:
    return item == 1 or item == 2 or item == 4 or item == 8


cdef inline bint plan_interleave(Move* move) noexcept nogil:
    cdef int last = move.rank - 1
    return (
        move.rank >= 2 and is_word(move.dst_item) and move.length[last - 1] >= LONG_ROW
        and move.index[last] == NULL and move.index[last - 1] == NULL
        and move.length[last] <= 16
        and move.dst_step[last] == move.dst_item
        and move.dst_step[last - 1] == move.length[last] * move.dst_item
        and move.src_step[last - 1] == move.src_item
    )


cdef inline bint plan_deinterleave(Move* move) noexcept nogil:
    """Find the axis that is contiguous in src and stand it before the last one."""
    cdef int last = move.rank - 1
    cdef int at
    cdef Py_ssize_t length, dst_step
    if (
        move.rank < 2 or not is_word(move.dst_item) or move.length[last] < LONG_ROW
        or move.index[last] != NULL or move.dst_step[last] != move.dst_item
    ):
        return False
    for at in range(last):
        length = move.length[at]
        if (
            move.index[at] == NULL and length <= 16 and move.src_step[at] == move.src_item
            and move.src_step[last] == length * move.src_item
        ):
            dst_step = move.dst_step[at]
            remove_axis(move, at)
            move.rank += 1
            move.length[last] = move.length[last - 1]
            move.src_step[last] = move.src_step[last - 1]
            move.dst_step[last] = move.dst_step[last - 1]
            move.index[last] = NULL
            move.length[last - 1] = length
            move.src_step[last - 1] = move.src_item
            move.dst_step[last - 1] = dst_step
            move.index[last - 1] = NULL
            sort_axes_by_src(move, last - 1)
            return True
    return False


cdef inline Py_ssize_t add_offsets(
    Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t length, Py_ssize_t step
) noexcept nogil:
    """Append offsets of an axis around the axes that have `count` of them; how many there are then."""
    cdef Py_ssize_t i, k
    for i in range(1, length):
        for k in range(count):
            offsets[i * count + k] = offsets[k] + i * step
    return count * length


cdef inline int find_axis(const Move* move, int axes, Py_ssize_t src_step, Py_ssize_t most) noexcept nogil:
    """The one of the first axes that has this step in src, no table and a length of no more than `most`, or -1."""
    cdef int at
    for at in range(axes):
        if move.index[at] == NULL and move.src_step[at] == src_step and move.length[at] <= most:
            return at
    return -1


cdef inline bint has_axis(const int* axes, int count, int axis) noexcept nogil:
    cdef int i
    for i in range(count):
        if axes[i] == axis:
            return True
    return False


cdef inline bint plan_transposes(Move* move) noexcept nogil:
    """Fold the last axes, contiguous in dst, into rows and those that are contiguous in src into columns."""
    cdef Py_ssize_t item = move.dst_item
    cdef Py_ssize_t tile = TILE // item
    cdef Py_ssize_t rows = 1
    cdef Py_ssize_t columns = 1
    cdef int column_axes[MOVE_AXES]
    cdef int found = 0
    cdef int line = move.rank - 1
    cdef bint contiguous = True
    cdef int at, i
    if not IMGOPS_HAS_TRANSPOSES or not is_word(item):
        return False
    while (
        line >= 0 and move.index[line] == NULL and move.dst_step[line] == rows * item
        and move.src_step[line] != item and rows * move.length[line] <= PATTERN
    ):
        rows *= move.length[line]
        line -= 1
    at = find_axis(move, line + 1, item, PATTERN)
    while at >= 0:
        contiguous = contiguous and move.dst_step[at] == rows * columns * item
        columns *= move.length[at]
        column_axes[found] = at
        found += 1
        at = find_axis(move, line + 1, columns * item, PATTERN // columns)
    # Tiles of which less than half is used do not pay, nor do a few of them by themselves.
    if (
        line + 1 == found or 2 * min(rows, tile) * min(columns, tile) < tile * tile
        or rows * columns * item < TILE * TILE
    ):
        return False
    at = line
    while at >= 0 and has_axis(column_axes, found, at):
        at -= 1
    if move.index[at] != NULL or columns < tile and move.src_step[at] + columns * item < TILE or rows < tile and not (
        contiguous and move.dst_step[at] == rows * columns * item
    ):
        return False
    for i in range(tile):
        move.offsets[i] = 0
    move.columns[0] = 0
    move.pattern = move.column_count = 1
    while move.rank > line + 1:
        at = move.rank - 1
        move.pattern = add_offsets(move.offsets, move.pattern, move.length[at], move.src_step[at])
        move.rank -= 1
    for i in range(found):
        at = column_axes[i]
        move.column_count = add_offsets(move.columns, move.column_count, move.length[at], move.dst_step[at])
    # From the last on, so that the axes before it keep their places.
    for at in range(line, -1, -1):
        if has_axis(column_axes, found, at):
            remove_axis(move, at)
    return True


cdef inline bint plan_patterns(Move* move) noexcept nogil:
    """Fold the last axes, while they are contiguous in dst and small, into one pattern of offsets."""
    cdef int axes = 0
    cdef int last = move.rank - 1
    cdef Py_ssize_t count = 1
    cdef Py_ssize_t i, k, rest
    cdef int axis
    if not is_word(move.dst_item):
        return False
    while (
        axes < move.rank and move.index[last - axes] == NULL and move.dst_step[last - axes] == count * move.dst_item
        and count * move.length[last - axes] <= PATTERN
    ):
        count *= move.length[last - axes]
        axes += 1
    if axes < 2 or axes == move.rank:
        return False
    for i in range(count):
        rest = i
        move.offsets[i] = 0
        for k in range(axes):
            axis = last - <int>k
            move.offsets[i] += (rest % move.length[axis]) * move.src_step[axis]
            rest //= move.length[axis]
    move.pattern = count
    move.rank -= axes
    # The line is the axis before the pattern; one with a table would need another loop.
    if move.index[move.rank - 1] != NULL:
        move.rank += axes
        return False
    return True


cdef inline void release_move(Move* move) noexcept nogil:
    free(move.window_offsets)
    move.window_offsets = NULL


cdef inline int place_windows(
    const Py_ssize_t* places, Py_ssize_t count, int lanes, Py_ssize_t window, Py_ssize_t latest, Py_ssize_t* offsets,
    uint8_t* controls
) noexcept nogil:
    """Windows that hold the units at `places`, of the first `count` lanes, none that begins after `latest`.

    Their number, MAX_WINDOWS + 1 if there are more. Before: all controls give nothing, and so do those not needed.
    """
    cdef Py_ssize_t ascending[MAX_LANES]
    cdef int lane_of[MAX_LANES]
    # Units of 1, 2 and 4 bytes.
    cdef int shift = (<int>window // lanes) >> 1
    cdef int lane, at
    cdef int windows = 0
    for lane in range(<int>count):
        at = lane
        while at > 0 and ascending[at - 1] > places[lane]:
            ascending[at] = ascending[at - 1]
            lane_of[at] = lane_of[at - 1]
            at -= 1
        ascending[at] = places[lane]
        lane_of[at] = lane
    for at in range(<int>count):
        if windows == 0 or ascending[at] >= offsets[windows - 1] + window:
            if windows == MAX_WINDOWS:
                return MAX_WINDOWS + 1
            offsets[windows] = min(ascending[at], latest)
            windows += 1
        controls[(windows - 1) * lanes + lane_of[at]] = <uint8_t>((ascending[at] - offsets[windows - 1]) >> shift)
    for at in range(windows, MAX_WINDOWS):
        offsets[at] = offsets[0]
    return windows


cdef inline void list_places(const Move* move, Py_ssize_t* places, Py_ssize_t repeats) noexcept nogil:
    """Where the units of the first repeats of a line of picks or patterns come from, from the line's origin in src."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t pattern = 1 if move.kind == PICKS else move.pattern
    cdef Py_ssize_t units = move.dst_item // move.unit
    cdef Py_ssize_t i, k, unit, place
    for i in range(repeats):
        for k in range(pattern):
            if move.kind == PICKS:
                place = move.index[last][i] * move.src_step[last]
            else:
                place = i * move.src_step[last] + move.offsets[k]
            for unit in range(units):
                places[unit] = place + unit * move.unit
            places += units


cdef inline bint fill_windows(Move* move, const Py_ssize_t* places) noexcept nogil:
    """The windows of all blocks of a repeat, as many of each; False where these are more than MAX_WINDOWS."""
    cdef Py_ssize_t block = block_bytes(move.unit)
    cdef int lanes = <int>block // move.unit
    cdef Py_ssize_t units = move.repeat_bytes // move.unit
    cdef Py_ssize_t blocks = (units + lanes - 1) // lanes
    cdef Py_ssize_t lowest = places[0]
    cdef Py_ssize_t latest = places[0]
    cdef Py_ssize_t i, begin
    for i in range(units):
        lowest = min(lowest, places[i])
        latest = max(latest, places[i])
    latest += move.unit - block
    if latest < lowest:
        return False
    move.windows = 0
    memset(move.window_controls, 128, blocks * MAX_WINDOWS * lanes)
    for i in range(blocks):
        begin = i * lanes if move.blocks else min(i * lanes, units - lanes)
        move.windows = max(move.windows, place_windows(
            places + begin, min(<Py_ssize_t>lanes, units - begin), lanes, block, latest,
            move.window_offsets + i * MAX_WINDOWS, move.window_controls + i * MAX_WINDOWS * lanes,
        ))
        if move.windows > MAX_WINDOWS:
            return False
    for i in range(blocks):
        memmove(
            move.window_offsets + i * move.windows, move.window_offsets + i * MAX_WINDOWS,
            move.windows * sizeof(Py_ssize_t),
        )
        memmove(
            move.window_controls + i * move.windows * lanes, move.window_controls + i * MAX_WINDOWS * lanes,
            move.windows * lanes,
        )
    return True


cdef inline bint fill_repeats(Move* move, const Py_ssize_t* places, int blocks) noexcept nogil:
    """As many patterns as a few blocks hold, if these have few windows."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t group = move.dst_item * move.pattern
    cdef Py_ssize_t block = block_bytes(move.unit)
    cdef Py_ssize_t items
    move.blocks = blocks
    move.repeat_items = blocks * block // group
    move.repeat_bytes = move.repeat_items * group
    if (
        not 1 <= move.repeat_items <= move.length[last] // MIN_REPEATS or move.repeat_bytes <= (blocks - 1) * block
        or not fill_windows(move, places) or move.windows > IMGOPS_MAX_BLOCK_WINDOWS
    ):
        return False
    # A load costs as much as a store; a run that is no word is copied in two steps. Wide blocks must win clearly.
    items = move.repeat_items * move.pattern
    return blocks * (move.windows + 1) + (block > 16) <= (items if is_word(move.dst_item) else 2 * items)


cdef inline int find_repeats(Move* move, const Py_ssize_t* places) noexcept nogil:
    """The number of blocks that takes the fewest loads and stores for its bytes, 0 if none pays."""
    cdef int best = 0
    cdef Py_ssize_t best_cost = 0
    cdef Py_ssize_t best_items = 1
    cdef Py_ssize_t cost
    cdef int blocks
    for blocks in range(1, IMGOPS_MAX_BLOCKS + 1):
        if fill_repeats(move, places, blocks):
            cost = blocks * (move.windows + 1)
            if best == 0 or cost * best_items < best_cost * move.repeat_items:
                best = blocks
                best_cost = cost
                best_items = move.repeat_items
    return best


cdef inline bint fill_whole_blocks(Move* move, const Py_ssize_t* places, Py_ssize_t repeats) noexcept nogil:
    """Blocks that follow one another without end, if they pay."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t group = move.dst_item * (1 if move.kind == PICKS else move.pattern)
    cdef Py_ssize_t block = block_bytes(move.unit)
    move.blocks = 0
    move.repeat_items = repeats
    move.repeat_bytes = repeats * group
    # A window costs about as much as a word copied by itself, and a wide one as much as some of them.
    return (
        block <= move.repeat_bytes and repeats <= move.length[last] and (is_word(move.dst_item) or move.kind == PICKS)
        and fill_windows(move, places) and move.windows * move.dst_item <= (36 if block == 64 else 12)
    )


cdef inline bint plan_blocks(Move* move, const Py_ssize_t* places, Py_ssize_t repeats) noexcept nogil:
    """Few blocks again and again, or all in a row where that takes less: stores that overlap cost more than one."""
    cdef int few = 0
    cdef Py_ssize_t cost, bytes_moved
    if move.kind == PATTERNS:
        few = find_repeats(move, places)
    if few == 0:
        return fill_whole_blocks(move, places, repeats)
    fill_repeats(move, places, few)
    cost = few * (move.windows + 1)
    bytes_moved = move.repeat_bytes
    return (
        bytes_moved == few * block_bytes(move.unit) or block_bytes(move.unit) <= 16
        or fill_whole_blocks(move, places, repeats) and (move.windows + 1) * bytes_moved < cost * block_bytes(move.unit)
        or fill_repeats(move, places, few)
    )


cdef inline bint plan_shuffles(Move* move, int unit) noexcept nogil:
    """Windows for picks or patterns whose units lie close together in src, if there is memory for them."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t group = move.dst_item * (1 if move.kind == PICKS else move.pattern)
    cdef Py_ssize_t repeats = move.length[last] if move.kind == PICKS else 1
    cdef Py_ssize_t block = block_bytes(unit)
    cdef Py_ssize_t room, k
    cdef Py_ssize_t* places
    cdef bint planned = False
    if (
        block == 0 or move.dst_step[last] != group
        or move.dst_item > (12 if move.kind == PICKS else MAX_SHUFFLED_RUN)
        or move.lines * move.length[last] * group < MIN_SHUFFLED
    ):
        return False
    if move.kind == PATTERNS:
        for k in range(move.pattern):
            if move.offsets[k] % unit:
                return False
        while repeats * group % block:
            repeats += 1
    # Room for one repeat of whole blocks, and for patterns that fill a few.
    room = repeats * group
    if room > MAX_PICKED or move.kind == PICKS and room < block:
        return False
    if move.kind == PATTERNS:
        room = max(room, IMGOPS_MAX_BLOCKS * block)
    move.unit = unit
    places = <Py_ssize_t*>calloc(room // unit, sizeof(Py_ssize_t))
    move.window_offsets = <Py_ssize_t*>malloc((room // block + 1) * MAX_WINDOWS * (sizeof(Py_ssize_t) + block // unit))
    if places != NULL and move.window_offsets != NULL:
        move.window_controls = <uint8_t*>(move.window_offsets + (room // block + 1) * MAX_WINDOWS)
        list_places(move, places, repeats if move.kind == PICKS else room // group)
        planned = plan_blocks(move, places, repeats)
    free(places)
    if not planned:
        release_move(move)
    return planned


cdef inline void plan_widest_shuffles(Move* move) noexcept nogil:
    cdef Py_ssize_t steps = move.dst_item | move.src_step[move.rank - 1]
    cdef int unit = 1 if steps & 1 else 2 if steps & 2 else 4
    if not plan_shuffles(move, unit) and unit > 1:
        plan_shuffles(move, 1)


cdef inline bint plan_run_shuffles(Move* move) noexcept nogil:
    """Short runs, contiguous in dst, as patterns that are shuffled; move is as before where they are not."""
    cdef int axes = move.line_axes
    cdef int last = move.rank - 1
    cdef Py_ssize_t line_bytes = move.dst_item * move.length[last] * (move.length[last - 1] if axes == 2 else 1)
    if is_word(move.dst_item) or move.dst_item > MAX_SHUFFLED_RUN or move.lines * line_bytes < MIN_SHUFFLED_RUNS:
        return False
    move.kind = PATTERNS
    move.pattern = 1
    move.offsets[0] = 0
    if axes == 2:
        if move.dst_step[last] != move.dst_item or move.length[last] > PATTERN:
            move.kind = RUNS
            return False
        move.pattern = add_offsets(move.offsets, 1, move.length[last], move.src_step[last])
        move.rank -= 1
        move.line_axes = 1
    plan_widest_shuffles(move)
    if move.window_offsets == NULL:
        move.kind = RUNS
        move.rank += axes - 1
        move.line_axes = axes
        return False
    return True


cdef inline void plan_pieces(Move* move) noexcept nogil:
    """Cut lines that leave bytes of src to other lines, so that these read them while they are near."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t step = magnitude(move.src_step[last])
    cdef Py_ssize_t piece = max(<Py_ssize_t>1, PIECE // max(<Py_ssize_t>1, step))
    cdef Py_ssize_t pieces
    move.piece_axis = -1
    if (
        move.kind != RUNS and move.kind != PATTERNS or move.line_axes != 1 or move.rank < 2
        or move.index[last] != NULL or move.index[last - 1] != NULL
        or magnitude(move.src_step[last - 1]) >= step or move.length[last] < 2 * piece
    ):
        return
    pieces = (move.length[last] + piece - 1) // piece
    move.last_piece = move.length[last] - (pieces - 1) * piece
    move.length[last] = piece
    insert_axis(move, last - 1, pieces, piece * move.src_step[last], piece * move.dst_step[last], NULL)
    move.piece_axis = last - 1
    move.lines *= pieces


cdef inline Py_ssize_t contiguous_bytes(const Move* move) noexcept nogil:
    """Bytes of a line, or of a row of one, that leaves nothing out in dst, or 0."""
    cdef int last = move.rank - 1
    cdef int axes = 1 if move.kind == DEINTERLEAVE else move.line_axes
    cdef Py_ssize_t size = move.dst_item * (move.pattern if move.kind == PATTERNS else 1)
    cdef int axis
    if move.kind == TRANSPOSES:
        return 0
    for axis in range(last, last - axes, -1):
        if move.dst_step[axis] != size:
            return 0
        size *= move.length[axis]
    return size


cdef inline void plan_streams(Move* move) noexcept nogil:
    cdef Py_ssize_t size = contiguous_bytes(move)
    cdef Py_ssize_t rows = move.length[move.rank - 2] if move.kind == DEINTERLEAVE else 1
    move.streamed = 0
    move.streamed_rows = rows
    if not IMGOPS_HAS_STREAMS or move.add or move.fresh or size < MIN_STREAMED or size * rows > MAX_STREAMED:
        return
    if move.lines >= STREAM_BYTES // (size * rows):
        move.streamed = size


cdef inline void plan_move(Move* move) noexcept nogil:
    """Choose the line. Before: operands, items and axes are set. After: kind, line_axes and lines are.

    To be followed by release_move.
    """
    cdef int i
    merge_axes(move)
    if move.kind != NUMBERS:
        while (
            move.rank > 0 and move.index[move.rank - 1] == NULL
            and move.src_step[move.rank - 1] == move.dst_item and move.dst_step[move.rank - 1] == move.dst_item
        ):
            move.dst_item *= move.length[move.rank - 1]
            move.src_item = move.dst_item
            move.rank -= 1
    if move.rank == 0:
        move.rank = 1
        move.length[0] = 1
        move.src_step[0] = 0
        move.dst_step[0] = 0
        move.index[0] = NULL
    move.line_axes = 1
    if move.kind != NUMBERS:
        if plan_interleave(move):
            move.kind = INTERLEAVE
            move.line_axes = 2
        elif plan_deinterleave(move):
            move.kind = DEINTERLEAVE
            move.line_axes = 2
        elif plan_transposes(move):
            move.kind = TRANSPOSES
        elif plan_patterns(move):
            move.kind = PATTERNS
        elif move.index[move.rank - 1] != NULL:
            move.kind = PICKS
        else:
            move.kind = RUNS
            # A short axis makes short lines: the one before it joins.
            if move.rank > 1 and move.length[move.rank - 1] <= 16 and move.index[move.rank - 2] == NULL:
                move.line_axes = 2
    move.lines = 1
    for i in range(move.rank - move.line_axes):
        move.lines *= move.length[i]
    move.window_offsets = NULL
    if move.lines >= MIN_LINES:
        if move.kind == PICKS or move.kind == PATTERNS:
            plan_widest_shuffles(move)
        elif move.kind == RUNS:
            plan_run_shuffles(move)
    plan_pieces(move)
    plan_streams(move)


# ---------------------------------------------------------------------------------------------------------------------
# Lines


cdef inline void copy_run(const char* src, char* dst, Py_ssize_t item) noexcept nogil:
    """A run of 3 to 256 bytes by copies of fixed sizes, which may overlap; longer ones by memcpy."""
    cdef Py_ssize_t done
    if item > 256:
        memcpy(dst, src, item)
    elif item > 16:
        done = 0
        while done + 16 <= item:
            memcpy(dst + done, src + done, 16)
            done += 16
        memcpy(dst + item - 16, src + item - 16, 16)
    elif item >= 8:
        memcpy(dst, src, 8)
        memcpy(dst + item - 8, src + item - 8, 8)
    elif item >= 4:
        memcpy(dst, src, 4)
        memcpy(dst + item - 4, src + item - 4, 4)
    else:
        memcpy(dst, src, 2)
        dst[item - 1] = src[item - 1]


cdef inline void line_runs(
    const char* src, Py_ssize_t src_step, char* dst, Py_ssize_t dst_step, Py_ssize_t item, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i
    if item == 1:
        copy_words(<const word8*>src, src_step, <word8*>dst, dst_step, count)
    elif item == 2:
        copy_words(<const word16*>src, src_step, <word16*>dst, dst_step, count)
    elif item == 4:
        copy_words(<const word32*>src, src_step, <word32*>dst, dst_step, count)
    elif item == 8:
        copy_words(<const word64*>src, src_step, <word64*>dst, dst_step, count)
    else:
        for i in range(count):
            copy_run(src + i * src_step, dst + i * dst_step, item)


cdef inline void pick_words(
    const word* src, Py_ssize_t src_step, const int64_t* index, word* dst, Py_ssize_t dst_step, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i
    if dst_step == <Py_ssize_t>sizeof(word) and src_step == <Py_ssize_t>sizeof(word):
        for i in range(count):
            dst[i] = src[index[i]]
    else:
        for i in range(count):
            (<word*>(<char*>dst + i * dst_step))[0] = (<const word*>(<const char*>src + index[i] * src_step))[0]


cdef inline void line_run_pairs(const Move* move, const char* src, char* dst) noexcept nogil:
    """Two axes of runs, the inner one short; runs of up to 16 bytes by two copies, which may overlap."""
    cdef int last = move.rank - 1
    cdef Py_ssize_t count = move.length[last]
    cdef Py_ssize_t src_step = move.src_step[last]
    cdef Py_ssize_t dst_step = move.dst_step[last]
    cdef Py_ssize_t item = move.dst_item
    cdef Py_ssize_t _, k
    for _ in range(move.length[last - 1]):
        if item > 16:
            for k in range(count):
                copy_run(src + k * src_step, dst + k * dst_step, item)
        elif item > 8:
            for k in range(count):
                memcpy(dst + k * dst_step, src + k * src_step, 8)
                memcpy(dst + k * dst_step + item - 8, src + k * src_step + item - 8, 8)
        elif item >= 4:
            for k in range(count):
                memcpy(dst + k * dst_step, src + k * src_step, 4)
                memcpy(dst + k * dst_step + item - 4, src + k * src_step + item - 4, 4)
        elif item >= 2:
            for k in range(count):
                memcpy(dst + k * dst_step, src + k * src_step, 2)
                (dst + k * dst_step)[item - 1] = (src + k * src_step)[item - 1]
        else:
            for k in range(count):
                dst[k * dst_step] = src[k * src_step]
        src += move.src_step[last - 1]
        dst += move.dst_step[last - 1]


cdef inline void pick_runs(
    const char* src, Py_ssize_t src_step, const int64_t* index, char* dst, Py_ssize_t dst_step, const Py_ssize_t item,
    Py_ssize_t count
) noexcept nogil:
    """Runs of a length that is a constant where this is called, so that copies are words."""
    cdef Py_ssize_t i
    for i in range(count):
        memcpy(dst + i * dst_step, src + index[i] * src_step, item)


cdef inline void line_picks(
    const char* src, Py_ssize_t src_step, const int64_t* index, char* dst, Py_ssize_t dst_step, Py_ssize_t item,
    Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i
    if item == 3:
        pick_runs(src, src_step, index, dst, dst_step, 3, count)
    elif item == 6:
        pick_runs(src, src_step, index, dst, dst_step, 6, count)
    elif item == 12:
        pick_runs(src, src_step, index, dst, dst_step, 12, count)
    elif item == 16:
        pick_runs(src, src_step, index, dst, dst_step, 16, count)
    elif item == 1:
        pick_words(<const word8*>src, src_step, index, <word8*>dst, dst_step, count)
    elif item == 2:
        pick_words(<const word16*>src, src_step, index, <word16*>dst, dst_step, count)
    elif item == 4:
        pick_words(<const word32*>src, src_step, index, <word32*>dst, dst_step, count)
    elif item == 8:
        pick_words(<const word64*>src, src_step, index, <word64*>dst, dst_step, count)
    else:
        for i in range(count):
            copy_run(src + index[i] * src_step, dst + i * dst_step, item)


cdef inline void interleave_words(
    const word* src, Py_ssize_t row_step, word* dst, Py_ssize_t rows, Py_ssize_t count
) noexcept nogil:
    """dst[i * rows + k] = row k of src, element i. Two, three and four rows are loops that vectorise."""
    cdef Py_ssize_t i, k
    cdef const word* a = src
    cdef const word* b = <const word*>(<const char*>src + row_step)
    cdef const word* c
    cdef const word* d
    if rows == 2:
        for i in range(count):
            dst[2 * i] = a[i]
            dst[2 * i + 1] = b[i]
    elif rows == 3:
        c = <const word*>(<const char*>src + 2 * row_step)
        for i in range(count):
            dst[3 * i] = a[i]
            dst[3 * i + 1] = b[i]
            dst[3 * i + 2] = c[i]
    elif rows == 4:
        c = <const word*>(<const char*>src + 2 * row_step)
        d = <const word*>(<const char*>src + 3 * row_step)
        for i in range(count):
            dst[4 * i] = a[i]
            dst[4 * i + 1] = b[i]
            dst[4 * i + 2] = c[i]
            dst[4 * i + 3] = d[i]
    else:
        for k in range(rows):
            a = <const word*>(<const char*>src + k * row_step)
            for i in range(count):
                dst[i * rows + k] = a[i]


cdef inline void deinterleave_words(
    const word* src, word* dst, Py_ssize_t row_step, Py_ssize_t rows, Py_ssize_t count
) noexcept nogil:
    """Row k of dst, element i = src[i * rows + k]."""
    cdef Py_ssize_t i, k
    cdef word* a = dst
    cdef word* b = <word*>(<char*>dst + row_step)
    cdef word* c
    cdef word* d
    if rows == 2:
        for i in range(count):
            a[i] = src[2 * i]
            b[i] = src[2 * i + 1]
    elif rows == 3:
        c = <word*>(<char*>dst + 2 * row_step)
        for i in range(count):
            a[i] = src[3 * i]
            b[i] = src[3 * i + 1]
            c[i] = src[3 * i + 2]
    elif rows == 4:
        c = <word*>(<char*>dst + 2 * row_step)
        d = <word*>(<char*>dst + 3 * row_step)
        for i in range(count):
            a[i] = src[4 * i]
            b[i] = src[4 * i + 1]
            c[i] = src[4 * i + 2]
            d[i] = src[4 * i + 3]
    else:
        for k in range(rows):
            a = <word*>(<char*>dst + k * row_step)
            for i in range(count):
                a[i] = src[i * rows + k]


cdef inline void pattern_words(
    const word* src, Py_ssize_t src_step, word* dst, Py_ssize_t dst_step, const Py_ssize_t* offsets, Py_ssize_t pattern,
    Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef const char* origin
    cdef word* target
    for i in range(count):
        origin = <const char*>src + i * src_step
        target = <word*>(<char*>dst + i * dst_step)
        for j in range(pattern):
            target[j] = (<const word*>(origin + offsets[j]))[0]


cdef inline void line_patterns(const Move* move, const char* src, char* dst, Py_ssize_t count) noexcept nogil:
    cdef int last = move.rank - 1
    cdef Py_ssize_t i, k
    cdef Py_ssize_t src_step = move.src_step[last]
    cdef Py_ssize_t dst_step = move.dst_step[last]
    if move.dst_item == 1:
        pattern_words(<const word8*>src, src_step, <word8*>dst, dst_step, move.offsets, move.pattern, count)
    elif move.dst_item == 2:
        pattern_words(<const word16*>src, src_step, <word16*>dst, dst_step, move.offsets, move.pattern, count)
    elif move.dst_item == 4:
        pattern_words(<const word32*>src, src_step, <word32*>dst, dst_step, move.offsets, move.pattern, count)
    elif move.dst_item != 8:
        for i in range(count):
            for k in range(move.pattern):
                copy_run(src + i * src_step + move.offsets[k], dst + i * dst_step + k * move.dst_item, move.dst_item)
    else:
        pattern_words(<const word64*>src, src_step, <word64*>dst, dst_step, move.offsets, move.pattern, count)


cdef inline void line_words(
    const Move* move, const char* src, char* dst, Py_ssize_t row_step, word* tag
) noexcept nogil:
    """The kinds of two axes whose items are single words; `tag` names the word's type only."""
    cdef int last = move.rank - 1
    if move.kind == INTERLEAVE:
        interleave_words(<const word*>src, move.src_step[last], <word*>dst, move.length[last], move.length[last - 1])
    else:
        deinterleave_words(
            <const word*>src, <word*>dst, row_step, move.length[last - 1], move.length[last]
        )


cdef inline void line_numbers(
    const Move* move, const char* src, char* dst, accumulator* chunk
) noexcept nogil:
    cdef int last = move.rank - 1
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t count
    while done < move.length[last]:
        count = min(move.length[last] - done, <Py_ssize_t>CHUNK)
        load(move.src_dtype, src + done * move.src_step[last], move.src_step[last], count, chunk)
        store(move.dst_dtype, chunk, dst + done * move.dst_step[last], move.dst_step[last], count, move.add)
        done += count


cdef inline void line_shuffles(const Move* move, const char* src, char* dst, Py_ssize_t count) noexcept nogil:
    cdef int last = move.rank - 1
    cdef Py_ssize_t src_step = move.repeat_items * move.src_step[last]
    cdef Py_ssize_t repeats = count // move.repeat_items
    cdef Py_ssize_t beyond, _
    if move.blocks:
        # The last block of the last repeat ends within the line.
        beyond = move.blocks * block_bytes(move.unit) - move.repeat_bytes
        repeats = max(<Py_ssize_t>0, (count * move.dst_step[last] - beyond) // move.repeat_bytes)
        shuffle_repeats(
            src, src_step, dst, move.repeat_bytes, repeats, move.window_offsets, move.window_controls, move.blocks,
            move.windows, move.unit
        )
        src += repeats * src_step
        dst += repeats * move.repeat_bytes
    else:
        for _ in range(repeats):
            shuffle_blocks(
                src, dst, move.repeat_bytes, move.window_offsets, move.window_controls, move.windows, move.unit
            )
            src += src_step
            dst += move.repeat_bytes
    if move.kind == PATTERNS:
        line_patterns(move, src, dst, count - repeats * move.repeat_items)


cdef inline void move_line(
    const Move* move, const char* src, char* dst, Py_ssize_t row_step, Py_ssize_t count
) noexcept nogil:
    """A line of `count` items along its last axis, which may be fewer than that has where lines are in pieces.

    Of the rows of one that is deinterleaved, each is row_step bytes behind the one before it.
    """
    cdef int last = move.rank - 1
    cdef float floats[CHUNK]
    cdef double doubles[CHUNK]
    if move.window_offsets != NULL:
        line_shuffles(move, src, dst, count)
    elif move.kind == RUNS and move.line_axes == 2:
        line_run_pairs(move, src, dst)
    elif move.kind == RUNS:
        line_runs(src, move.src_step[last], dst, move.dst_step[last], move.dst_item, count)
    elif move.kind == PICKS:
        line_picks(
            src, move.src_step[last], move.index[last], dst, move.dst_step[last], move.dst_item, count
        )
    elif move.kind == NUMBERS:
        if move.src_dtype == FLOAT64 or move.dst_dtype == FLOAT64:
            line_numbers(move, src, dst, doubles)
        else:
            line_numbers(move, src, dst, floats)
    elif move.kind == TRANSPOSES:
        transpose_words(
            src, move.src_step[last], move.offsets, move.pattern, dst, move.dst_step[last], move.columns,
            move.column_count, count, move.dst_item
        )
    elif move.kind == PATTERNS:
        line_patterns(move, src, dst, count)
    elif move.dst_item == 1:
        line_words(move, src, dst, row_step, <word8*>NULL)
    elif move.dst_item == 2:
        line_words(move, src, dst, row_step, <word16*>NULL)
    elif move.dst_item == 4:
        line_words(move, src, dst, row_step, <word32*>NULL)
    else:
        line_words(move, src, dst, row_step, <word64*>NULL)


cdef inline Py_ssize_t picked(const Move* move, int axis, Py_ssize_t at) noexcept nogil:
    return move.index[axis][at] if move.index[axis] != NULL else at


cdef inline void move_part(const Move* move, int part, int parts) noexcept nogil:
    """The lines of one thread."""
    cdef Py_ssize_t begin = move.lines * part // parts
    cdef Py_ssize_t end = move.lines * (part + 1) // parts
    cdef Py_ssize_t at[MOVE_AXES]
    cdef int outer = move.rank - move.line_axes
    cdef int last = move.rank - 1
    cdef int axis
    cdef Py_ssize_t rest = begin
    cdef Py_ssize_t line
    cdef Py_ssize_t count = move.length[last]
    # Without memory for it a line goes to its place at once. Registers may be stored beyond its end.
    cdef char* made = <char*>malloc(move.streamed * move.streamed_rows + LINE) if move.streamed else NULL
    cdef Py_ssize_t row_step = move.dst_step[last - 1] if move.kind == DEINTERLEAVE else 0
    cdef Py_ssize_t row, left_out
    cdef Py_ssize_t line_bytes = move.dst_item * move.length[last]
    cdef const char* src = move.src
    cdef char* dst = move.dst
    # A row that reads what the row before it read is a copy of that row, where rows are contiguous.
    cdef bint may_repeat = (
        move.kind == PICKS and outer > 0 and move.index[outer - 1] != NULL and move.dst_step[last] == move.dst_item
    )
    for axis in range(outer - 1, -1, -1):
        at[axis] = rest % move.length[axis]
        rest //= move.length[axis]
        src += picked(move, axis, at[axis]) * move.src_step[axis]
        dst += at[axis] * move.dst_step[axis]
    for line in range(begin, end):
        if (
            may_repeat and line > begin and at[outer - 1] > 0
            and move.index[outer - 1][at[outer - 1]] == move.index[outer - 1][at[outer - 1] - 1]
        ):
            if made == NULL:
                memcpy(dst, dst - move.dst_step[outer - 1], line_bytes)
        else:
            count = move.length[last]
            if move.piece_axis >= 0 and at[move.piece_axis] == move.length[move.piece_axis] - 1:
                count = move.last_piece
            if made == NULL:
                move_line(move, src, dst, row_step, count)
            else:
                move_line(move, src, made, move.streamed, count)
        if made != NULL:
            left_out = (move.length[last] - count) * move.dst_step[last]
            for row in range(move.streamed_rows):
                stream(made + row * move.streamed, dst + row * row_step, move.streamed - left_out)
        for axis in range(outer - 1, -1, -1):
            src -= picked(move, axis, at[axis]) * move.src_step[axis]
            at[axis] += 1
            dst += move.dst_step[axis]
            if at[axis] < move.length[axis]:
                src += picked(move, axis, at[axis]) * move.src_step[axis]
                break
            dst -= move.length[axis] * move.dst_step[axis]
            at[axis] = 0
            src += picked(move, axis, 0) * move.src_step[axis]
    if made != NULL:
        finish_streams()
        free(made)


cdef inline int move_threads(const Move* move, Py_ssize_t bytes_moved, int num_threads) noexcept nogil:
    return <int>max(1, min(<Py_ssize_t>num_threads, min(move.lines, bytes_moved // BYTES_PER_THREAD)))
