# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled loops that bring rows together to baskets and units; see grouping.pyi.

They do what portable_grouping.py does in numpy, with equal results, in less time and less memory.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport qsort

import numpy as np

cdef enum:
    SHORT = 32  # rows up to this length are sorted by insertion


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


def replace(int32_t[::1] numbers, const int32_t[::1] by):
    cdef int64_t place
    with nogil:
        for place in range(numbers.shape[0]):
            numbers[place] = by[numbers[place]]


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
    cdef int32_t copied
    moved, starts = np.empty(codes.shape[0], dtype=np.int32), np.zeros(count + 1, dtype=np.int64)
    cdef int32_t[::1] out = moved
    cdef int64_t[::1] cursors = starts
    with nogil:
        for row in range(rows):
            cursors[baskets[row] + 1] += sizes[row]
        _to_starts(cursors)
    lengths = np.diff(starts)
    with nogil:
        for row in range(rows):
            cursor = cursors[baskets[row]]
            for copied in range(sizes[row]):
                out[cursor + copied] = codes[entry + copied]
            cursors[baskets[row]] += sizes[row]
            entry += sizes[row]
    return moved, lengths


cdef int _ascending(const void *a, const void *b) noexcept nogil:
    cdef int32_t first = (<const int32_t *>a)[0], second = (<const int32_t *>b)[0]
    return (first > second) - (first < second)


cdef void _sort(int32_t *values, int64_t length) noexcept nogil:
    cdef int64_t i, j
    cdef int32_t value
    if length > SHORT:
        qsort(values, length, sizeof(int32_t), _ascending)
        return
    for i in range(1, length):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


def canonical_baskets(const int64_t[::1] lengths, int32_t[::1] codes):
    cdef int64_t basket, entry = 0, start, end = 0, kept, place, length
    cdef int32_t last
    offsets = np.zeros(lengths.shape[0] + 1, dtype=np.int64)
    cdef int64_t[::1] ends = offsets[1:]
    with nogil:
        for basket in range(lengths.shape[0]):
            start = end
            for place in range(entry, entry + lengths[basket]):
                if codes[place] >= 0:
                    codes[end] = codes[place]
                    end += 1
            entry += lengths[basket]
            length = end - start
            if length > 1:
                _sort(&codes[0] + start, length)
            end = start
            last = -1
            for place in range(start, start + length):
                if codes[place] != last:
                    last = codes[place]
                    codes[end] = last
                    end += 1
            ends[basket] = end
    return offsets, np.asarray(codes)[:end]
