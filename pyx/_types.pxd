# Element types, and the two lines through which every weighted kernel reads and writes its operands.
#
#   load:   dst[i] = src[i]                                   any element type -> accumulator
#   store:  dst[i] = round(src[i])  or  round(dst[i] + src[i])   accumulator -> any element type
#
# One line is `count` elements, `stride` bytes apart, at any address; the accumulator side is contiguous.
# Integers are rounded half to even and saturated. Overlap of the two sides is not handled: faces copy first.
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

cdef extern from "_words.h" nogil:
    ctypedef unsigned char word8
    ctypedef unsigned short word16
    ctypedef unsigned int word32
    ctypedef unsigned long long word64
    ctypedef signed char any_int8
    ctypedef short any_int16
    ctypedef int any_int32
    ctypedef long long any_int64
    ctypedef float any_float
    ctypedef double any_double
    ctypedef unsigned short fixed
    float half_to_float(uint16_t half)
    uint16_t float_to_half(float value)
    void halves_to_floats(const word16* source, float* target, Py_ssize_t count)
    void floats_to_halves(const float* source, word16* target, Py_ssize_t count)
    float bfloat_to_float(uint16_t bits)
    uint16_t float_to_bfloat(float value)
    float double_to_odd_float(double value)
    float round_clamped_float(float value, float low, float high)
    double round_clamped_double(double value, double low, double high)

# imgops._dtypes.CODES holds the same numbers.
cdef enum:
    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    UINT64 = 6
    INT64 = 7
    FLOAT16 = 8
    BFLOAT16 = 9
    FLOAT32 = 10
    FLOAT64 = 11

# The most axes a NumPy array can have.
cdef enum:
    MAX_AXES = 64

ctypedef fused accumulator:
    float
    double


# Every type that sums are kept in; see _resample.pyx for `fixed`.
ctypedef fused total:
    float
    double
    fixed


cdef inline Py_ssize_t magnitude(Py_ssize_t step) noexcept nogil:
    return step if step >= 0 else -step


ctypedef fused word:
    word8
    word16
    word32
    word64

ctypedef fused number:
    word8
    any_int8
    word16
    any_int16
    word32
    any_int32
    word64
    any_int64
    any_float
    any_double

ctypedef fused integer:
    word8
    any_int8
    word16
    any_int16
    word32
    any_int32


cdef inline void load_numbers(const number* src, Py_ssize_t stride, Py_ssize_t count, total* dst) noexcept nogil:
    cdef Py_ssize_t i
    if stride == <Py_ssize_t>sizeof(number):
        for i in range(count):
            dst[i] = <total>src[i]
    else:
        for i in range(count):
            dst[i] = <total>(<const number*>(<const char*>src + i * stride))[0]


cdef inline void load_halves(const word16* src, Py_ssize_t stride, Py_ssize_t count, accumulator* dst) noexcept nogil:
    cdef Py_ssize_t i
    if accumulator is float:
        if stride == 2:
            halves_to_floats(src, dst, count)
            return
    for i in range(count):
        dst[i] = half_to_float((<const word16*>(<const char*>src + i * stride))[0])


cdef inline void load_bfloats(const word16* src, Py_ssize_t stride, Py_ssize_t count, accumulator* dst) noexcept nogil:
    cdef Py_ssize_t i
    if stride == 2:
        for i in range(count):
            dst[i] = bfloat_to_float(src[i])
    else:
        for i in range(count):
            dst[i] = bfloat_to_float((<const word16*>(<const char*>src + i * stride))[0])


cdef inline void load(int dtype, const char* src, Py_ssize_t stride, Py_ssize_t count, accumulator* dst) noexcept nogil:
    if dtype == UINT8:
        load_numbers(<const word8*>src, stride, count, dst)
    elif dtype == INT8:
        load_numbers(<const any_int8*>src, stride, count, dst)
    elif dtype == UINT16:
        load_numbers(<const word16*>src, stride, count, dst)
    elif dtype == INT16:
        load_numbers(<const any_int16*>src, stride, count, dst)
    elif dtype == UINT32:
        load_numbers(<const word32*>src, stride, count, dst)
    elif dtype == INT32:
        load_numbers(<const any_int32*>src, stride, count, dst)
    elif dtype == UINT64:
        load_numbers(<const word64*>src, stride, count, dst)
    elif dtype == INT64:
        load_numbers(<const any_int64*>src, stride, count, dst)
    elif dtype == FLOAT16:
        load_halves(<const word16*>src, stride, count, dst)
    elif dtype == BFLOAT16:
        load_bfloats(<const word16*>src, stride, count, dst)
    elif dtype == FLOAT32:
        load_numbers(<const any_float*>src, stride, count, dst)
    else:
        load_numbers(<const any_double*>src, stride, count, dst)


cdef inline accumulator to_integer(accumulator value, double low, double high) noexcept nogil:
    if accumulator is float:
        return round_clamped_float(value, <float>low, <float>high)
    else:
        return round_clamped_double(value, low, high)


cdef inline void store_integers(
    const accumulator* src, integer* dst, Py_ssize_t stride, Py_ssize_t count, double low, double high
) noexcept nogil:
    # Through int64 only where int32 cannot hold the value: conversion to int32 is what vectorises.
    cdef Py_ssize_t i
    if integer is word32 or integer is any_int32:
        for i in range(count):
            (<integer*>(<char*>dst + i * stride))[0] = <integer><int64_t>to_integer(src[i], low, high)
    elif stride == <Py_ssize_t>sizeof(integer):
        for i in range(count):
            dst[i] = <integer><int32_t>to_integer(src[i], low, high)
    else:
        for i in range(count):
            (<integer*>(<char*>dst + i * stride))[0] = <integer><int32_t>to_integer(src[i], low, high)


cdef inline void store_floats(
    const accumulator* src, any_float* dst, Py_ssize_t stride, Py_ssize_t count, bint add
) noexcept nogil:
    cdef Py_ssize_t i
    cdef any_float* element
    if stride == 4:
        if add:
            for i in range(count):
                dst[i] = <float>(dst[i] + src[i])
        elif accumulator is float:
            memcpy(dst, src, count * 4)
        else:
            for i in range(count):
                dst[i] = <float>src[i]
    else:
        for i in range(count):
            element = <any_float*>(<char*>dst + i * stride)
            element[0] = <float>(element[0] + src[i]) if add else <float>src[i]


cdef inline void store_doubles(
    const accumulator* src, any_double* dst, Py_ssize_t stride, Py_ssize_t count, bint add
) noexcept nogil:
    cdef Py_ssize_t i
    cdef any_double* element
    for i in range(count):
        element = <any_double*>(<char*>dst + i * stride)
        element[0] = element[0] + src[i] if add else <double>src[i]


cdef inline float to_narrow(accumulator value) noexcept nogil:
    if accumulator is float:
        return value
    else:
        return double_to_odd_float(value)


cdef inline void store_halves(
    const accumulator* src, word16* dst, Py_ssize_t stride, Py_ssize_t count, bint add
) noexcept nogil:
    cdef Py_ssize_t i
    cdef word16* element
    if accumulator is float:
        if stride == 2 and not add:
            floats_to_halves(src, dst, count)
            return
    for i in range(count):
        element = <word16*>(<char*>dst + i * stride)
        element[0] = float_to_half(to_narrow(<accumulator>half_to_float(element[0]) + src[i] if add else src[i]))


cdef inline void store_bfloats(
    const accumulator* src, word16* dst, Py_ssize_t stride, Py_ssize_t count, bint add
) noexcept nogil:
    cdef Py_ssize_t i
    cdef word16* element
    for i in range(count):
        element = <word16*>(<char*>dst + i * stride)
        element[0] = float_to_bfloat(to_narrow(<accumulator>bfloat_to_float(element[0]) + src[i] if add else src[i]))


cdef inline void store(
    int dtype, const accumulator* src, char* dst, Py_ssize_t stride, Py_ssize_t count, bint add
) noexcept nogil:
    # `add` is for floats only; integers have no gradient.
    if dtype == UINT8:
        store_integers(src, <word8*>dst, stride, count, 0, 255)
    elif dtype == INT8:
        store_integers(src, <any_int8*>dst, stride, count, -128, 127)
    elif dtype == UINT16:
        store_integers(src, <word16*>dst, stride, count, 0, 65535)
    elif dtype == INT16:
        store_integers(src, <any_int16*>dst, stride, count, -32768, 32767)
    elif dtype == UINT32:
        store_integers(src, <word32*>dst, stride, count, 0, 4294967295.0)
    elif dtype == INT32:
        store_integers(src, <any_int32*>dst, stride, count, -2147483648.0, 2147483647)
    elif dtype == FLOAT16:
        store_halves(src, <word16*>dst, stride, count, add)
    elif dtype == BFLOAT16:
        store_bfloats(src, <word16*>dst, stride, count, add)
    elif dtype == FLOAT32:
        store_floats(src, <any_float*>dst, stride, count, add)
    else:
        store_doubles(src, <any_double*>dst, stride, count, add)


# ---------------------------------------------------------------------------------------------------------------------
# Words: elements moved byte for byte


cdef inline void copy_words(
    const word* src, Py_ssize_t src_stride, word* dst, Py_ssize_t dst_stride, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t i
    if dst_stride == <Py_ssize_t>sizeof(word):
        if src_stride == <Py_ssize_t>sizeof(word):
            memcpy(dst, src, count * sizeof(word))
        else:
            for i in range(count):
                dst[i] = (<const word*>(<const char*>src + i * src_stride))[0]
    else:
        for i in range(count):
            (<word*>(<char*>dst + i * dst_stride))[0] = (<const word*>(<const char*>src + i * src_stride))[0]
