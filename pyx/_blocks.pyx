# Depth <-> space: elements of blocks moved between the channel axis and the two spatial axes.
#
#   space[.., c, h * b + i, w * b + j] = depth[.., k, h, w]
#   k = (i * b + j) * C + c (DCR) or (c * b + i) * b + j (CRD)
#
# Both arrays are seen through the same axes (.., c, h, i, w, j), each with a step on either side; _moves.pxd copies one
# view to the other. Any dtype, any strides, any other axes; parallel over lines. Shapes, positive lengths and the
# absence of overlap are established by the face.
from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cython.parallel cimport prange

from _moves cimport NUMBERS, RUNS, Move, add_axis, move_part, move_threads, plan_move, release_move


cdef void add_block_axes(
    Move* move, const Py_buffer* depth, const Py_buffer* space, int channel, int height, int width, Py_ssize_t block,
    bint crd, bint to_space
) noexcept nogil:
    cdef Py_ssize_t channels = space.shape[channel]
    cdef Py_ssize_t channel_step = depth.strides[channel]
    cdef Py_ssize_t lengths[5]
    cdef Py_ssize_t depth_steps[5]
    cdef Py_ssize_t space_steps[5]
    cdef int axis
    lengths[0] = channels
    depth_steps[0] = channel_step * block * block if crd else channel_step
    space_steps[0] = space.strides[channel]
    lengths[1] = depth.shape[height]
    depth_steps[1] = depth.strides[height]
    space_steps[1] = space.strides[height] * block
    lengths[2] = block
    depth_steps[2] = channel_step * block if crd else channel_step * block * channels
    space_steps[2] = space.strides[height]
    lengths[3] = depth.shape[width]
    depth_steps[3] = depth.strides[width]
    space_steps[3] = space.strides[width] * block
    lengths[4] = block
    depth_steps[4] = channel_step if crd else channel_step * channels
    space_steps[4] = space.strides[width]
    for axis in range(5):
        if to_space:
            add_axis(move, lengths[axis], depth_steps[axis], space_steps[axis], NULL)
        else:
            add_axis(move, lengths[axis], space_steps[axis], depth_steps[axis], NULL)


def move_blocks(
    src, dst, int channel, int height, int width, Py_ssize_t block, bint crd, bint to_space,
    int src_dtype, int dst_dtype, int parts, bint add, bint fresh, int num_threads
):
    """Move blocks from src to dst; as bytes, or as `parts` numbers per item where the dtypes differ or `add` is set.

    src_dtype and dst_dtype are codes of _types.pxd; src_dtype is -1 for bytes. `fresh`: see _streams.h.
    """
    cdef Py_buffer source
    cdef Py_buffer target
    cdef Move move
    cdef int axis, part, threads
    cdef Py_ssize_t number
    PyObject_GetBuffer(src, &source, PyBUF_STRIDES)
    try:
        PyObject_GetBuffer(dst, &target, PyBUF_STRIDES | PyBUF_WRITABLE)
    except BaseException:
        PyBuffer_Release(&source)
        raise
    try:
        with nogil:
            move.src = <const char*>source.buf
            move.dst = <char*>target.buf
            move.rank = 0
            move.kind = RUNS if src_dtype < 0 else NUMBERS
            move.src_dtype = src_dtype
            move.dst_dtype = dst_dtype
            move.add = add
            move.fresh = fresh
            move.src_item = source.itemsize
            move.dst_item = target.itemsize
            for axis in range(source.ndim):
                if axis != channel and axis != height and axis != width:
                    add_axis(&move, source.shape[axis], source.strides[axis], target.strides[axis], NULL)
            if to_space:
                add_block_axes(&move, &source, &target, channel, height, width, block, crd, True)
            else:
                add_block_axes(&move, &target, &source, channel, height, width, block, crd, False)
            if move.kind == NUMBERS and parts > 1:
                number = target.itemsize // parts
                add_axis(&move, parts, source.itemsize // parts, number, NULL)
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
