# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled loops that bring rows together to baskets and units; see grouping.pyi.

They do what portable_grouping.py does in numpy, with equal results, in less time and less memory.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memset

import numpy as np

cdef extern from *:
    """
    #define FIM_SHORT 128

    /* Write up to FIM_SHORT values once each, ascending, and no -1; return how many. There is room behind the values for
       a block of 8, which may hold anything. A value goes where as many are smaller: equal ones to one place, and -1 to
       a place of its own, so that places are left that hold -1. Hardly a branch depends on what the values are. */
    static inline int64_t fim_sort_short(const int32_t *values, int64_t length, int32_t *out) {
        int32_t sorted[FIM_SHORT];
        int64_t count = 0;
        for (int64_t i = 0; i < length; i++) sorted[i] = -1;
        for (int64_t block = 0; block < length; block += 8) {
            int32_t smaller[8] = {0};
            for (int64_t j = 0; j < length; j++)
                for (int i = 0; i < 8; i++) smaller[i] += values[j] < values[block + i];
            for (int64_t i = 0; i < 8 && block + i < length; i++) sorted[smaller[i]] = values[block + i];
        }
        for (int64_t i = 0; i < length; i++) {
            out[count] = sorted[i];
            count += sorted[i] >= 0;
        }
        return count;
    }
    """
    int64_t fim_sort_short(const int32_t *, int64_t, int32_t *) noexcept nogil

cdef enum:
    SHORT = 128  # FIM_SHORT


cdef int32_t _largest(const int32_t[::1] numbers) noexcept nogil:
    """Return the largest number, -1 of none."""
    cdef int32_t largest = -1
    cdef int64_t place
    for place in range(numbers.shape[0]):
        if numbers[place] > largest:
            largest = numbers[place]
    return largest


cdef void _to_starts(int64_t[::1] counts) noexcept nogil:
    """Turn counts, of which the first is 0, to where each begins, in place."""
    cdef int64_t place
    for place in range(1, counts.shape[0]):
        counts[place] += counts[place - 1]


def mark(const int32_t[::1] numbers, uint8_t[::1] marked):
    cdef int64_t place, last = marked.shape[0] - 1
    with nogil:
        for place in range(numbers.shape[0]):
            marked[numbers[place] if numbers[place] >= 0 else last] = 1


def without_gaps(int32_t[::1] numbers):
    cdef int64_t row
    cdef int32_t number, after = 0
    cdef int32_t[::1] new = np.zeros(_largest(numbers) + 1, dtype=np.int32)
    with nogil:
        for row in range(numbers.shape[0]):
            new[numbers[row]] = 1
        for number in range(new.shape[0]):
            after += new[number]
            new[number] = after - 1
        for row in range(numbers.shape[0]):
            numbers[row] = new[numbers[row]]
    return np.asarray(numbers)


def numbers_of_pairs(const int32_t[::1] first, const int32_t[::1] second):
    cdef int64_t row, count = second.shape[0], largest = _largest(second)
    cdef int32_t number, after = 0
    if not count or largest >= 4 * count:
        return None
    numbers, table = np.empty(count, dtype=np.int32), np.zeros((largest + 1, 2), dtype=np.int32)
    cdef int32_t[::1] out = numbers
    cdef int32_t[:, ::1] seen = table  # of each second number: its pair's number plus 1, its first number
    with nogil:
        for row in range(count):
            number = second[row]
            if seen[number, 0] == 0:
                after += 1
                seen[number, 0] = after
                seen[number, 1] = first[row]
            elif seen[number, 1] != first[row]:
                with gil:
                    return None
            out[row] = seen[number, 0] - 1
    return numbers


def in_order_of_units(int32_t[::1] baskets, const int32_t[::1] units):
    cdef int64_t row, rows = baskets.shape[0]
    cdef int64_t basket, count = _largest(baskets) + 1
    cdef int32_t unit
    cdef int32_t[::1] owner = np.empty(count, dtype=np.int32), rank = np.empty(count, dtype=np.int32)
    first_baskets = np.zeros(_largest(units) + 2, dtype=np.int64)
    cdef int64_t[::1] cursors = first_baskets
    with nogil:
        for row in range(rows):
            owner[baskets[row]] = units[row]
        for basket in range(count):
            cursors[owner[basket] + 1] += 1
        _to_starts(cursors)
    unit_offsets = first_baskets.copy()
    with nogil:
        for basket in range(count):
            unit = owner[basket]
            rank[basket] = <int32_t>cursors[unit]
            cursors[unit] += 1
        for row in range(rows):
            baskets[row] = rank[baskets[row]]
    return np.asarray(baskets), unit_offsets


def brought_together(const int32_t[::1] codes, const int32_t[::1] sizes, const int32_t[::1] baskets):
    cdef int64_t row, entry = 0, cursor, rows = sizes.shape[0], count = _largest(baskets) + 1
    cdef int32_t copied, last = 0
    cdef bint ascends = True
    offsets = np.zeros(count + 1, dtype=np.int64)
    cdef int64_t[::1] cursors = offsets
    with nogil:
        for row in range(rows):
            ascends &= baskets[row] >= last
            last = baskets[row]
            cursors[last + 1] += sizes[row]
        _to_starts(cursors)
    if ascends:
        return np.asarray(codes), offsets
    moved, cursors = np.empty(codes.shape[0], dtype=np.int32), offsets.copy()
    cdef int32_t[::1] out = moved
    with nogil:
        for row in range(rows):
            cursor = cursors[baskets[row]]
            for copied in range(sizes[row]):
                out[cursor + copied] = codes[entry + copied]
            cursors[baskets[row]] += sizes[row]
            entry += sizes[row]
    return moved, offsets


cdef int _ascending(const void *a, const void *b) noexcept nogil:
    cdef int32_t first = (<const int32_t *>a)[0], second = (<const int32_t *>b)[0]
    return (first > second) - (first < second)


cdef int64_t _distinct(const int32_t *values, int64_t length, int32_t *out) noexcept nogil:
    """Write values that ascend once each, and no -1; return how many. out may begin at values."""
    cdef int64_t place, count = 0
    cdef int32_t last = -1
    for place in range(length):
        if values[place] != last:
            last = values[place]
            out[count] = last
            count += 1
    return count


def canonical_baskets(int64_t[::1] offsets, int32_t[::1] codes, const int32_t[::1] final):
    cdef int64_t basket, entry = 0, end = 0, place, length
    cdef int32_t short[SHORT + 8]
    cdef int32_t *out = NULL
    memset(short, 0, sizeof(short))
    with nogil:
        for basket in range(offsets.shape[0] - 1):
            length = offsets[basket + 1] - entry
            if length:
                out = &codes[0] + end
            if length <= SHORT:
                for place in range(length):
                    short[place] = final[codes[entry + place]]
                end += fim_sort_short(short, length, out)
            else:
                for place in range(length):
                    out[place] = final[codes[entry + place]]
                qsort(out, length, sizeof(int32_t), _ascending)
                end += _distinct(out, length, out)
            entry += length
            offsets[basket + 1] = end
    return np.asarray(offsets), np.asarray(codes)[:end]
