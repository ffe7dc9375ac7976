# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The counting kernel of itemsets: prefix scans that fill a histogram of supports; see kernel.pyi.

A scan goes in descending order of support. Items are ranks (0 is the most frequent); a row has its ranks ascending, so
the items that an itemset may be extended with stand before its last one in the same row. A *node* is a list of rows and a
bound: the rows' prefixes below that rank, out of which `more` items are still to be chosen. Four methods to finish one:

- one item to choose: a counter per rank, incremented along the prefixes;
- at most 4 rows: inclusion and exclusion over the sizes of their intersections, C(n, more) at a time, so that
  the long tail of itemsets in hardly any basket is never enumerated;
- dense rows: one bitmap a rank, intersected pairwise, until few bits are left: then on with rows;
- two items to choose and a small table of pairs: one pass over the rows.

Otherwise the frequent ranks are relabelled 0, 1, ... in a copy of the prefixes, which is a smaller table
of rows, and each of its columns is a node with one item less to choose.
"""

from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from fim_private.counting.sums cimport *

cdef extern from *:
    """
    #define fim_try_lock(p) (!__atomic_exchange_n((p), 1, __ATOMIC_ACQUIRE))
    #define fim_unlock(p) __atomic_store_n((p), 0, __ATOMIC_RELEASE)
    #define fim_prefetch(p) __builtin_prefetch(p)
    #define fim_lowest_bit(x) __builtin_ctzll(x)
    #define fim_parity(x) __builtin_parity(x)

    FIM_CLONES static int64_t fim_and_count(const uint64_t *a, const uint64_t *b, int64_t words) {
        int64_t count = 0;
        for (int64_t k = 0; k < words; k++) count += __builtin_popcountll(a[k] & b[k]);
        return count;
    }

    FIM_CLONES static int64_t fim_and_store(uint64_t *out, const uint64_t *a, const uint64_t *b, int64_t words) {
        int64_t count = 0;
        for (int64_t k = 0; k < words; k++) {
            out[k] = a[k] & b[k];
            count += __builtin_popcountll(out[k]);
        }
        return count;
    }
    """
    bint fim_try_lock(int *) noexcept nogil
    void fim_unlock(int *) noexcept nogil
    void fim_prefetch(const void *) noexcept nogil
    int fim_lowest_bit(uint64_t) noexcept nogil
    int fim_parity(unsigned int) noexcept nogil
    int64_t fim_and_count(const uint64_t *, const uint64_t *, int64_t) noexcept nogil
    int64_t fim_and_store(uint64_t *, const uint64_t *, const uint64_t *, int64_t) noexcept nogil

cdef enum:
    # Rows of one unit up to which a bit each tells what was counted before.
    ROWS_OF_UNIT = 64
    # Supports below this are counted without atomics, in a histogram of each thread: 512 kB.
    SMALL = 65536
    # Cells of a node's table of pairs: 1 MB, what a second-level cache holds.
    PAIRS = 262144
    # Coefficients of closed forms, 64 MB; with longer rows and larger sizes they are not used.
    TERMS = 8388608
    # Intersections of a word each that are as quick as one entry copied out of bitmaps into a row.
    TRANSPOSE = 32

FEW_ROWS = FEW

cdef struct Table:              # without rows to go through: the rows are in one stream, the unit before each
    const int32_t *ranks
    const int64_t *starts
    const int32_t *units        # NULL: each row is a unit


cdef inline int64_t _pairs_of_row(const int32_t *row, int64_t length, int32_t high, uint32_t *cells,
                                  int32_t *marks, int32_t unit) noexcept nogil:
    """Count the pairs of a row below high. marks: the unit that each was last counted for, plus 1; NULL to count all."""
    cdef int64_t b, a, base
    for b in range(length):
        if row[b] >= high:
            return b * (b - 1) // 2
        base = <int64_t>row[b] * (row[b] - 1) // 2
        for a in range(b):
            if marks == NULL:
                cells[base + row[a]] += 1
            else:
                cells[base + row[a]] += marks[base + row[a]] != unit + 1
                marks[base + row[a]] = unit + 1
    return length * (length - 1) // 2


cdef int64_t _pairs_of_rows(const int32_t *ranks, const int64_t *starts, int64_t rows, int32_t high, uint32_t *cells,
                            uint64_t *seen, uint64_t *here) noexcept nogil:
    """Count each pair of one unit's rows once: in the first row that has it.

    seen: for each rank a bit for each row before that has it, 0 at first and in the end; here: those of the row's own
    ranks. Two ranks have met before if they share a bit.
    """
    cdef const int32_t *row
    cdef uint32_t *line
    cdef int64_t j, b, a, length, work = 0
    for j in range(rows):
        row = ranks + starts[j]
        length = starts[j + 1] - starts[j]
        while length and row[length - 1] >= high:
            length -= 1
        for b in range(length):
            here[b] = seen[row[b]]
            seen[row[b]] |= <uint64_t>1 << j
        for b in range(length):
            line = cells + <int64_t>row[b] * (row[b] - 1) // 2
            for a in range(b):
                line[row[a]] += (here[a] & here[b]) == 0
        work += length * (length - 1) // 2
    for j in range(rows):
        row = ranks + starts[j]
        for b in range(starts[j + 1] - starts[j]):
            if row[b] >= high:
                break
            seen[row[b]] = 0
    return work


cdef bint _grow(Worker *w, void **buffer, int64_t *room, int64_t needed, size_t width) noexcept nogil:
    """Make room for so many of that width; False, and the end of the scan, where there is too little memory."""
    cdef void *grown
    if needed <= room[0]:
        return True
    needed += needed // 4 + 64
    grown = realloc(buffer[0], needed * width)
    if grown == NULL:
        fim_store_int(&w.shared.state, NO_MEMORY_STATE)
        return False
    buffer[0] = grown
    room[0] = needed
    return True


cdef inline void _record(Worker *w, int64_t support) noexcept nogil:
    """Count one itemset. Below the floor is harmless: what is not asked for is dropped at the end."""
    if w.shared.wanted == 0:
        if support < SMALL:
            w.small[support] += 1
        elif support < w.shared.ceiling:
            fim_add(&w.shared.histogram[support], 1)
    elif support >= fim_load(&w.shared.floor) and support < w.shared.ceiling:
        fim_add(&w.shared.histogram[support], 1)
        w.found += 1


cdef void _raise_floor(Worker *w) noexcept nogil:
    """Let the floor be the support of the wanted-th itemset found so far: it rises, to that of all itemsets at last."""
    cdef Shared *s = w.shared
    cdef int64_t support, seen = 0
    fim_add(&s.found, w.found)
    w.found = 0
    if fim_load(&s.found) < s.wanted // 8 + 1 or not fim_try_lock(&s.raising):
        return
    fim_store(&s.found, 0)
    support = s.ceiling
    while support > s.floor and seen < s.wanted:
        support -= 1
        seen += fim_load(&s.histogram[support])
        if support <= FEW:
            seen += fim_load(&s.few[support])
    if seen >= s.wanted and support > s.floor:
        fim_store(&s.floor, support)
    fim_unlock(&s.raising)


cdef inline const int32_t *_row(Table *table, const int32_t *rows, int64_t k, const int32_t *following,
                                int32_t *unit) noexcept nogil:
    """Return where the k-th row of a node starts (following: after the end of the one before), and its unit."""
    if rows == NULL:
        if table.units != NULL:
            unit[0] = following[0]
            following += 1
        return following
    if table.units != NULL:
        unit[0] = table.units[rows[k]]
    return table.ranks + table.starts[rows[k]]


cdef int64_t _count_prefixes(Worker *w, Table *table, const int32_t *rows, int64_t n, int32_t bound,
                             bint far) noexcept nogil:
    """Count the ranks below bound over the rows' prefixes; write those met to touched, return how many.

    Returns -1 where so many are met that it is cheaper to look at all.
    """
    cdef int64_t k, met = 0, work = 0
    cdef const int32_t *entry
    cdef const int32_t *start
    cdef const int32_t *following = table.ranks
    cdef int32_t rank, unit
    cdef uint32_t seen
    cdef bint all_of_them = n >= bound // 4
    for k in range(n):
        if far and k + 12 < n:
            fim_prefetch(table.ranks + table.starts[rows[k + 12]])
        entry = start = _row(table, rows, k, following, &unit)
        rank = entry[0]
        if table.units != NULL:
            while rank < bound:
                seen = w.count[rank]
                w.touched[met] = rank
                met += seen == 0
                # Without a branch: whether a unit was met before is as good as random. A mark of an earlier node,
                # where the count is 0, may be of any unit.
                w.count[rank] = seen + ((seen == 0) | (w.mark[rank] != unit))
                w.mark[rank] = unit
                entry += 1
                rank = entry[0]
        elif all_of_them:
            while rank < bound:
                w.count[rank] += 1
                entry += 1
                rank = entry[0]
        else:
            while rank < bound:
                seen = w.count[rank]
                w.touched[met] = rank
                met += seen == 0
                w.count[rank] = seen + 1
                entry += 1
                rank = entry[0]
        work += entry - start
        following = entry + 1
    w.work += work + n
    return -1 if all_of_them and table.units == NULL else met


cdef void _finish_counts(Worker *w, int64_t met, int32_t bound, int depth) noexcept nogil:
    """One item was to choose: each count is the support of an itemset."""
    cdef int64_t k
    cdef int32_t rank
    cdef uint32_t support
    if w.shared.list_items and met >= 0:
        sort(w.touched, met)
    for k in range(bound if met < 0 else met):
        rank = <int32_t>k if met < 0 else w.touched[k]
        support = w.count[rank]
        w.count[rank] = 0
        if w.shared.list_items:
            _list(w, rank if depth == 0 else w.depths[depth - 1].names[rank], support)
        elif support:
            _record(w, support)


cdef void _list(Worker *w, int32_t rank, uint32_t support) noexcept nogil:
    """Write down what was chosen and that rank, if its support is wanted."""
    cdef int32_t *out
    cdef int size = w.shared.size
    if (support < w.shared.floor or support >= w.shared.ceiling or not _grow(
            w, <void **>&w.listed, &w.listed_room, w.listed_size + size + 1, sizeof(int32_t))):
        return
    out = w.listed + w.listed_size
    memcpy(out, w.chosen, (size - 1) * sizeof(int32_t))
    out[size - 1], out[size] = rank, <int32_t>support
    w.listed_size += size + 1


cdef void _few_rows(Worker *w, Table *table, const int32_t *rows, int n, int32_t bound, int more) noexcept nogil:
    """Count all itemsets of a node of at most FEW rows."""
    cdef int64_t common[16]  # 1 << FEW: how many ranks are in exactly each set of rows
    cdef int32_t units[FEW]
    cdef int64_t k, met = 0
    cdef int row
    cdef const int32_t *entry
    cdef const int32_t *following = table.ranks
    memset(common, 0, sizeof(common))
    for row in range(n):
        entry = _row(table, rows, row, following, &units[row])
        while entry[0] < bound:
            w.touched[met] = entry[0]
            met += w.count[entry[0]] == 0
            w.count[entry[0]] |= 1 << row
            entry += 1
        following = entry + 1
    for k in range(met):
        common[w.count[w.touched[k]]] += 1
        w.count[w.touched[k]] = 0
    w.work += met + 4 * n
    _few_sets(w, common, n, more, units if table.units != NULL else NULL)


cdef void _few_bits(Worker *w, const uint64_t *sets, int32_t last, int64_t words, int n, int more) noexcept nogil:
    """The same for a node given by bitmaps: the rows of the last set, and the sets before it."""
    cdef int64_t common[16]
    cdef int64_t positions[FEW]
    cdef int64_t word
    cdef uint64_t rest
    cdef int32_t other
    cdef int row, found = 0, subset
    memset(common, 0, sizeof(common))
    for word in range(words):
        rest = sets[last * words + word]
        while rest:
            positions[found] = 64 * word + fim_lowest_bit(rest)
            found += 1
            rest &= rest - 1
    for other in range(last):
        subset = 0
        for row in range(n):
            if sets[other * words + (positions[row] >> 6)] >> (positions[row] & 63) & 1:
                subset |= 1 << row
        common[subset] += 1
    w.work += last + words
    _few_sets(w, common, n, more, NULL)


cdef void _few_sets(Worker *w, int64_t *common, int n, int more, const int32_t *units) noexcept nogil:
    """Count the itemsets of `more` ranks in n <= FEW rows from how many ranks are in exactly each set of rows.

    C(|A|, more) of them lie in every row of a set with intersection A; those in no further row follow by inclusion and
    exclusion, and have the support of that set: its number of units.
    """
    cdef int subset, other, row, k, earlier, support, sign
    cdef int64_t length, at
    cdef double inside, term
    common[0] = 0
    # From "in exactly these rows" to "in these rows at least".
    for row in range(n):
        for subset in range(1 << n):
            if not subset >> row & 1:
                common[subset] += common[subset | 1 << row]
    for subset in range(1, 1 << n):
        support = 0
        for row in range(n):
            if subset >> row & 1:
                earlier = 0
                if units != NULL:
                    for k in range(row):
                        if subset >> k & 1 and units[k] == units[row]:
                            earlier = 1
                support += not earlier
        if support < fim_load(&w.shared.floor) or support >= w.shared.ceiling:
            continue
        inside = 0
        for other in range(subset, 1 << n):
            length = common[other]
            if other & subset == subset and length >= more:
                sign = 1 - 2 * fim_parity(other ^ subset)
                at = (support * w.shared.size + more) * (w.longest + 1) + length
                w.terms[at] += sign
                w.first_term = min(w.first_term, at)
                w.last_term = max(w.last_term, at)
                if w.shared.wanted:
                    term = 1
                    for k in range(more):
                        term = term * (length - k) / (k + 1)
                    inside += sign * term
        # Only to raise the floor, so too little is safe: differences of large doubles are left out.
        if w.shared.wanted and 0.5 < inside < 1e9:
            fim_add(&w.shared.few[support], <int64_t>(inside + 0.5))
            w.found += <int64_t>(inside + 0.5)


cdef int32_t _relabel(Worker *w, int64_t met, int32_t bound, Depth *depth) noexcept nogil:
    """Give the ranks at or above the floor the labels 1, 2, ... in their count; others 0. Return how many."""
    cdef int64_t k, floor = fim_load(&w.shared.floor)
    cdef int32_t rank, labels = 0
    cdef bint ordered = met < 0 or met > bound // 8
    if not _grow(w, <void **>&depth.names, &depth.names_room, bound, sizeof(int32_t)):
        return 0
    if not ordered:
        sort(w.touched, met)
    for k in range(bound if ordered else met):
        rank = <int32_t>k if ordered else w.touched[k]
        if w.count[rank] < floor:
            w.count[rank] = 0
            continue
        depth.names[labels] = rank
        labels += 1
        w.count[rank] = labels
    return labels


cdef void _extend(Worker *w, Table *table, const int32_t *rows, int64_t n, int32_t bound, int more,
                  int depth) noexcept nogil:
    """Count all itemsets made of what was chosen and `more` >= 1 ranks below bound in the given rows."""
    cdef int64_t met
    if n < fim_load(&w.shared.floor) or n == 0 or bound < more or not goes_on(w):
        return
    if n <= FEW and (more > 1 or n == 1) and w.terms != NULL:
        _few_rows(w, table, rows, <int>n, bound, more)
    else:
        met = _count_prefixes(w, table, rows, n, bound, depth == 0 and rows != NULL)
        if more == 1:
            _finish_counts(w, met, bound, depth)
        else:
            _extend_table(w, table, rows, n, bound, more, depth, met)
    if w.shared.wanted and w.found > w.shared.wanted // 16:
        _raise_floor(w)


cdef void _extend_table(Worker *w, Table *table, const int32_t *rows, int64_t n, int32_t bound, int more,
                        int depth, int64_t met) noexcept nogil:
    cdef Depth *d = &w.depths[depth]
    cdef Table local
    cdef int64_t entries, pairs, rows_left, k
    cdef int32_t left
    left, rows_left, entries, pairs = _relabel(w, met, bound, d), 0, -1, 0
    if left >= more:
        entries = _copy_rows(w, table, rows, n, bound, more, d, &rows_left, &pairs)
    for k in range(left):
        w.count[d.names[k]] = 0
    if entries < 0 or rows_left < fim_load(&w.shared.floor) or rows_left == 0:
        return
    if depth and w.shared.list_items:
        for k in range(left):
            d.names[k] = w.depths[depth - 1].names[d.names[k]]
    w.work += entries
    local.ranks, local.starts, local.units = d.ranks, d.starts, NULL if table.units == NULL else d.units
    _count_table(w, &local, rows_left, left, pairs, more, depth)


cdef void _count_table(Worker *w, Table *local, int64_t n, int32_t left, int64_t pairs, int more,
                       int depth) noexcept nogil:
    """Count all itemsets of `more` >= 2 of the labels, in n rows that hold that many pairs of them."""
    cdef Depth *d = &w.depths[depth]
    cdef int64_t words = (n + 63) // 64, cells = <int64_t>left * (left - 1) // 2, row, entry
    cdef int32_t label
    if not w.shared.list_items:
        if local.units == NULL and cells * (words + 4) < pairs:
            if not _grow(w, <void **>&d.bits, &d.bits_room, left * words, sizeof(uint64_t)):
                return
            memset(d.bits, 0, left * words * sizeof(uint64_t))
            for row in range(n):
                for entry in range(local.starts[row], local.starts[row + 1]):
                    d.bits[local.ranks[entry] * words + (row >> 6)] |= <uint64_t>1 << (row & 63)
            for label in range(more - 1, left):
                _intersect_last(w, d.bits, label, words, more, depth + 1)
            return
        if more == 2 and cells <= PAIRS and cells <= 4 * pairs:
            _pair_table(w, local, n, left, cells)
            w.work += pairs
            return
    if not _columns(w, local, n, left, more, d):
        return
    for label in range(more - 1, left):
        if w.shared.list_items:
            w.chosen[depth + 1] = d.names[label]
        _extend(w, local, d.rows + d.columns[label], d.columns[label + 1] - d.columns[label], label, more - 1, depth + 1)
        if fim_load_int(&w.shared.state):
            return


cdef int64_t _copy_rows(Worker *w, Table *table, const int32_t *rows, int64_t n, int32_t bound, int more,
                        Depth *d, int64_t *rows_left, int64_t *pairs) noexcept nogil:
    """Copy the labelled entries of the prefixes, rows of at least `more` of them; return how many, -1 without memory."""
    cdef int64_t k, size = 0, start, length, count = 0
    cdef const int32_t *entry
    cdef const int32_t *following = table.ranks
    cdef int32_t unit = 0
    if not _grow(w, <void **>&d.starts, &d.starts_room, n + 1, sizeof(int64_t)) or (
        table.units != NULL and not _grow(w, <void **>&d.units, &d.units_room, n, sizeof(int32_t))
    ):
        return -1
    for k in range(n):
        entry = _row(table, rows, k, following, &unit)
        if size + bound + 1 > d.ranks_room:
            length = 0
            while entry[length] < bound:
                length += 1
            if not _grow(w, <void **>&d.ranks, &d.ranks_room, size + length + 1, sizeof(int32_t)):
                return -1
        start = size
        while entry[0] < bound:
            d.ranks[size] = <int32_t>w.count[entry[0]] - 1
            size += w.count[entry[0]] != 0
            entry += 1
        following = entry + 1
        length = size - start
        if length < more:
            size = start
            continue
        d.starts[count] = start
        if table.units != NULL:
            d.units[count] = unit
        count += 1
        pairs[0] += length * (length - 1) // 2
    d.starts[count] = size
    rows_left[0] = count
    return size


cdef bint _columns(Worker *w, Table *local, int64_t n, int32_t left, int more, Depth *d) noexcept nogil:
    """List for each label the rows in which at least more - 1 labels stand before it."""
    cdef int64_t row, entry, size = 0, count
    cdef int32_t label
    if not _grow(w, <void **>&d.columns, &d.columns_room, left + 2, sizeof(int64_t)):
        return False
    memset(d.columns, 0, (left + 2) * sizeof(int64_t))
    for row in range(n):
        for entry in range(local.starts[row] + more - 1, local.starts[row + 1]):
            d.columns[local.ranks[entry] + 2] += 1
    for label in range(left):
        d.columns[label + 2] += d.columns[label + 1]
    if not _grow(w, <void **>&d.rows, &d.rows_room, d.columns[left + 1] + 1, sizeof(int32_t)):
        return False
    for row in range(n):
        for entry in range(local.starts[row] + more - 1, local.starts[row + 1]):
            label = local.ranks[entry]
            d.rows[d.columns[label + 1]] = <int32_t>row
            d.columns[label + 1] += 1
    return True


cdef void _pair_table(Worker *w, Table *local, int64_t n, int32_t left, int64_t cells) noexcept nogil:
    cdef int64_t row, cell, length
    if local.units != NULL:
        memset(w.marks, 0, cells * sizeof(int32_t))
    for row in range(n):
        length = local.starts[row + 1] - local.starts[row]
        if local.units == NULL:  # a loop of its own: it is hot
            _pairs_of_row(local.ranks + local.starts[row], length, left, w.cells, NULL, 0)
        else:
            _pairs_of_row(local.ranks + local.starts[row], length, left, w.cells, w.marks, local.units[row])
    w.work += cells
    for cell in range(cells):
        if w.cells[cell]:
            _record(w, w.cells[cell])
            w.cells[cell] = 0


cdef void _intersect_last(Worker *w, const uint64_t *sets, int32_t last, int64_t words, int more,
                          int depth) noexcept nogil:
    """Count the intersections of `more` >= 2 of the sets, this one and others before it."""
    cdef Depth *d = &w.depths[depth]
    cdef const uint64_t *own = sets + last * words
    cdef int32_t other, fits, left = 0
    cdef double steps
    cdef int64_t shared, entries = 0, floor = fim_load(&w.shared.floor)
    cdef int64_t support = fim_and_count(own, own, words)
    if support < floor or not goes_on(w):
        return
    if support <= FEW and w.terms != NULL:
        _few_bits(w, sets, last, words, <int>support, more - 1)
        return
    w.work += last * words
    if more == 2:
        for other in range(last):
            _record(w, fim_and_count(own, sets + other * words, words))
    else:
        if not _grow(w, <void **>&d.bits, &d.bits_room, last * words, sizeof(uint64_t)):
            return
        for other in range(last):
            shared = fim_and_store(d.bits + left * words, own, sets + other * words, words)
            fits = shared >= floor
            left += fits
            entries += shared * fits
        # Most bits may be 0 by now, so that rows take fewer steps; with more to choose they save as much again.
        steps = <double>left * (left - 1) / 2 * (left - 1 if more > 3 else 1)
        if steps * (words - support // 64) > TRANSPOSE * <double>entries:
            _extend_rows(w, own, left, words, support, entries, more - 1, depth)
        else:
            for other in range(more - 2, left):
                _intersect_last(w, d.bits, other, words, more - 1, depth + 1)
    if w.shared.wanted and w.found > w.shared.wanted // 16:
        _raise_floor(w)


cdef void _extend_rows(Worker *w, const uint64_t *own, int32_t left, int64_t words, int64_t support, int64_t entries,
                       int more, int depth) noexcept nogil:
    """Count the itemsets of `more` >= 2 of the sets in this depth's bitmaps, all subsets of own, by the rows in own."""
    cdef Depth *d = &w.depths[depth]
    cdef Table local
    cdef int64_t at[64]  # where the next entry of each row of a word goes; before that, how many it has
    cdef int64_t word, bit, length, size = 0, count = 0, pairs = 0
    cdef int32_t label
    cdef uint64_t rest, long_enough
    if left < more:
        return
    if (not _grow(w, <void **>&d.starts, &d.starts_room, support + 1, sizeof(int64_t))
            or not _grow(w, <void **>&d.ranks, &d.ranks_room, entries + 1, sizeof(int32_t))):
        return
    for word in range(words):
        if own[word] == 0:
            continue
        memset(at, 0, sizeof(at))
        for label in range(left):
            rest = d.bits[label * words + word]
            while rest:
                at[fim_lowest_bit(rest)] += 1
                rest &= rest - 1
        long_enough = 0
        rest = own[word]
        while rest:
            bit = fim_lowest_bit(rest)
            rest &= rest - 1
            length = at[bit]
            if length >= more:
                long_enough |= <uint64_t>1 << bit
                d.starts[count] = at[bit] = size
                count += 1
                size += length
                pairs += length * (length - 1) // 2
        for label in range(left):
            rest = d.bits[label * words + word] & long_enough
            while rest:
                bit = fim_lowest_bit(rest)
                rest &= rest - 1
                d.ranks[at[bit]] = label
                at[bit] += 1
    d.starts[count] = size
    w.work += left * words + entries
    if count == 0 or count < fim_load(&w.shared.floor):
        return
    local.ranks, local.starts, local.units = d.ranks, d.starts, NULL
    _count_table(w, &local, count, left, pairs, more, depth)


cdef class Scan(Pass):
    """One count of all itemsets of a size; see kernel.pyi."""

    cdef const int32_t[::1] ranks, rows, units, streams
    cdef const int64_t[::1] starts, columns, counts_of_rows, unit_starts
    cdef bint of_units
    cdef const uint64_t[::1] bits
    cdef uint32_t[::1] cells
    cdef int32_t pair_ranks, low, high
    cdef int64_t words, longest
    cdef readonly object histogram, closed_forms, itemsets

    def __init__(self, int size, int64_t[::1] histogram, int64_t longest, *, int64_t floor, int64_t wanted,
                 int64_t max_work, bint list_items):
        self.shared.size, self.shared.floor, self.shared.wanted = size, floor, wanted
        self.shared.histogram, self.shared.ceiling = &histogram[0], histogram.shape[0]
        self.shared.max_work, self.shared.list_items = max_work, list_items
        self.histogram, self.longest = histogram.base, longest
        self.closed_forms, self.itemsets = {}, []

    cdef _begin(self, int64_t low, int64_t high):
        self.bits = self.streams = self.cells = None
        self.low, self.high, self.shared.next_rank, self.end = <int32_t>low, <int32_t>high, low, high

    def set_rows(self, const int32_t[::1] ranks, const int64_t[::1] starts, const int32_t[::1] units,
                 const int64_t[::1] columns, const int32_t[::1] rows, int32_t low, int32_t high):
        self._begin(low, high)
        self.ranks, self.starts, self.units, self.columns, self.rows = ranks, starts, units, columns, rows

    def set_streams(self, const int32_t[::1] streams, const int64_t[::1] starts, const int64_t[::1] counts,
                    bint of_units, int32_t low, int32_t high):
        self._begin(low, high)
        self.streams, self.columns, self.counts_of_rows, self.of_units = streams, starts, counts, of_units

    def set_bitmaps(self, const uint64_t[::1] bits, int64_t words, int32_t high):
        self._begin(self.shared.size - 1, high)
        self.bits, self.words = bits, words

    def set_pairs(self, const int32_t[::1] ranks, const int64_t[::1] starts, const int64_t[::1] unit_starts,
                  int32_t ranks_in_table, uint32_t[::1] cells):
        self._begin(0, (starts if unit_starts is None else unit_starts).shape[0] - 1)
        self.ranks, self.starts, self.unit_starts = ranks, starts, unit_starts
        self.pair_ranks, self.cells = ranks_in_table, cells

    def add_pairs(self, const uint32_t[::1] cells):
        cdef int64_t cell, support
        with nogil:
            for cell in range(cells.shape[0]):
                support = cells[cell]
                if support >= self.shared.floor and support < self.shared.ceiling:
                    self.shared.histogram[support] += 1
                    self.shared.found += 1
        self.settle()

    def settle(self):
        cdef Worker worker
        if self.shared.wanted:
            memset(&worker, 0, sizeof(worker))
            worker.shared = &self.shared
            self.shared.found = self.shared.wanted
            _raise_floor(&worker)

    cdef void _prepare(self, Worker *w) noexcept nogil:
        cdef int64_t terms = (FEW + 1) * <int64_t>self.shared.size * (self.longest + 1)
        w.longest, w.last_term, w.first_term = self.longest, -1, TERMS
        if self.cells is not None:
            w.cells = <uint32_t *>zeros(w, self.cells.shape[0], sizeof(uint32_t))
            w.seen = <uint64_t *>zeros(w, 2 * self.pair_ranks, sizeof(uint64_t))
            return
        w.depths = <Depth *>zeros(w, self.shared.size, sizeof(Depth))
        w.chosen = <int32_t *>zeros(w, self.shared.size, sizeof(int32_t))
        w.count = <uint32_t *>zeros(w, self.high, sizeof(uint32_t))
        w.mark = <int32_t *>zeros(w, self.high, sizeof(int32_t))
        w.touched = <int32_t *>zeros(w, self.high, sizeof(int32_t))
        w.cells = <uint32_t *>zeros(w, PAIRS, sizeof(uint32_t))
        w.marks = <int32_t *>zeros(w, PAIRS, sizeof(int32_t))
        w.small = <int64_t *>zeros(w, SMALL, sizeof(int64_t))
        if not self.shared.list_items and terms < TERMS:
            w.terms = <int64_t *>calloc(terms, sizeof(int64_t))  # it does without

    cdef void _work(self, Worker *w) noexcept nogil:
        cdef int64_t rank
        if self.cells is not None:
            self._work_through_pairs(w)
        elif self.bits is None:
            self._work_through_columns(w)
        while self.bits is not None and goes_on(w):
            rank = fim_add(&self.shared.next_rank, 1)
            if rank >= self.high:
                return
            _intersect_last(w, &self.bits[0], <int32_t>rank, self.words, self.shared.size, 0)

    cdef void _work_through_columns(self, Worker *w) noexcept nogil:
        cdef Table table
        cdef int64_t rank, at, step = 1
        table.starts = table.units = NULL
        if self.streams is None:
            table.ranks, table.starts = &self.ranks[0], &self.starts[0]
            if self.units is not None:
                table.units = &self.units[0]
        elif self.of_units:
            table.units = &self.streams[0]  # in the stream itself
        while goes_on(w):
            rank = fim_add(&self.shared.next_rank, step)
            if rank >= self.high:
                return
            for rank in range(rank, min(rank + step, <int64_t>self.high)):
                at = rank - self.low
                w.chosen[0] = <int32_t>rank
                if self.streams is None:
                    _extend(w, &table, &self.rows[0] + self.columns[at], self.columns[at + 1] - self.columns[at],
                            <int32_t>rank, self.shared.size - 1, 0)
                else:
                    table.ranks = &self.streams[0] + self.columns[at]
                    _extend(w, &table, NULL, self.counts_of_rows[at], <int32_t>rank, self.shared.size - 1, 0)
            # Ranks deep in the tail have a handful of rows each: several at a time.
            step = 16 if rank > 2048 else 1

    cdef void _work_through_pairs(self, Worker *w) noexcept nogil:
        cdef const int32_t *ranks = &self.ranks[0]
        cdef const int64_t *starts = &self.starts[0]
        cdef int64_t unit, row, first, last
        while goes_on(w):
            unit = fim_add(&self.shared.next_rank, UNITS)
            if unit >= self.high:
                return
            for unit in range(unit, min(unit + UNITS, <int64_t>self.high)):
                first, last = unit, unit + 1
                if self.unit_starts is not None:
                    first, last = self.unit_starts[unit], self.unit_starts[unit + 1]
                w.work += last - first
                if last - first == 1:
                    w.work += _pairs_of_row(ranks + starts[first], starts[last] - starts[first], self.pair_ranks,
                                            w.cells, NULL, 0)
                elif last - first <= ROWS_OF_UNIT:
                    w.work += _pairs_of_rows(ranks, starts + first, last - first, self.pair_ranks, w.cells,
                                             w.seen, w.seen + self.pair_ranks)
                else:
                    if w.marks == NULL:
                        w.marks = <int32_t *>zeros(w, self.cells.shape[0], sizeof(int32_t))
                        if w.marks == NULL:
                            return
                    for row in range(first, last):
                        w.work += _pairs_of_row(ranks + starts[row], starts[row + 1] - starts[row], self.pair_ranks,
                                                w.cells, w.marks, <int32_t>unit)
                        if not goes_on(w):
                            return
                if not goes_on(w):
                    return

    cdef _collect(self, Worker *w):
        cdef int64_t at, value, support, stride = self.longest + 1
        if self.cells is not None and w.cells != NULL:
            for at in range(self.cells.shape[0]):
                self.cells[at] += w.cells[at]
        if w.small != NULL and self.shared.wanted == 0:
            with nogil:
                for support in range(1, min(<int64_t>SMALL, self.shared.ceiling)):
                    if w.small[support]:
                        fim_add(&self.shared.histogram[support], w.small[support])
        if w.terms != NULL:
            for at in range(w.first_term, w.last_term + 1):
                value = w.terms[at]
                if value:
                    key = (at // stride // self.shared.size, at // stride % self.shared.size, at % stride)
                    self.closed_forms[key] = self.closed_forms.get(key, 0) + value
        if w.listed_size:
            self.itemsets.append(bytes((<char *>w.listed)[: w.listed_size * sizeof(int32_t)]))

    cdef void _free(self, Worker *w) noexcept:
        cdef int k
        cdef Depth *d
        for k in range(self.shared.size + 1 if w.depths != NULL else 0):
            d = &w.depths[k]
            free(d.ranks); free(d.starts); free(d.units); free(d.columns); free(d.rows); free(d.bits); free(d.names)
        free(w.listed); free(w.terms)
        Pass._free(self, w)

    @property
    def floor(self):
        return self.shared.floor

    @property
    def work(self):
        return fim_load(&self.shared.work)

    @property
    def next_rank(self):
        return min(fim_load(&self.shared.next_rank), self.high)
