# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The counting kernel: prefix scans that fill a histogram of supports, and passes over units.

kernel.pyi says what the functions and classes are for, which the interpreter sees.

A scan goes in descending order of support.

Items are ranks (0 is the most frequent); a row holds its ranks ascending, so the items that an itemset may
be extended with stand before its last one in the same row. A *node* is a list of rows and a bound: the rows'
prefixes below that rank, out of which `more` items are still to be chosen. Four methods to finish a node:

- one item to choose: a counter per rank, incremented along the prefixes;
- at most 4 rows: inclusion and exclusion over the sizes of their intersections, C(n, more) at a time, so that
  the long tail of itemsets in hardly any basket is never enumerated;
- dense rows: one bitmap a rank, intersected pairwise, until few bits are left: then on with rows;
- two items to choose and a small table of pairs: one pass over the rows.

Otherwise the frequent ranks are relabelled 0, 1, ... in a copy of the prefixes, which is a smaller table
of rows, and each of its columns is a node with one item less to choose.

A pass adds what each unit has of a list of cells, pairs of items or candidates of a trie, to a table, with a weight. The
weight depends on which different cells the unit *hits*, so these are collected first: a list, and for a unit of several
rows how often it hits each. Candidates are looked for from a row's rarest item on, so that few beginnings are met. The
children of the root are in a table, those of its children in bitmaps over the items; further down a node has few, of
which each is looked for among the row's items, or many, among which each of the row's items is.

Nothing here looks at Python objects while it works; `compiled.py` prepares the arrays and owns the threads. Under the
interpreter's lock they add up what each of them has found.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort, realloc
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <stdint.h>
    #define fim_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
    #define fim_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
    #define fim_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
    #define fim_try_lock(p) (!__atomic_exchange_n((p), 1, __ATOMIC_ACQUIRE))
    #define fim_unlock(p) __atomic_store_n((p), 0, __ATOMIC_RELEASE)
    #define fim_prefetch(p) __builtin_prefetch(p)
    #define fim_lowest_bit(x) __builtin_ctzll(x)

    /* One binary for every x86-64: the loader picks the version for the processor's instructions. Sanitizers do
       not stand the resolver that this needs. */
    #if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(FIM_SANITIZE)
    #define FIM_CLONES __attribute__((target_clones("avx2", "popcnt", "default")))
    #else
    #define FIM_CLONES
    #endif

    /* Sort distinct values: each goes where as many are smaller. Quadratic, but without a branch. */
    FIM_CLONES static void fim_sort_short(const int32_t *restrict values, int64_t length, int32_t *restrict out) {
        for (int64_t i = 0; i < length; i++) {
            int32_t smaller = 0;
            for (int64_t j = 0; j < length; j++) smaller += values[j] < values[i];
            out[smaller] = values[i];
        }
    }

    /* How many bits are set. The builtin is a call where the processor's instruction may not be taken for granted. */
    static inline int fim_ones(uint64_t x) {
        x -= x >> 1 & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
        return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
    }

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
    int fim_load_int "fim_load"(int *) noexcept nogil
    int64_t fim_load(int64_t *) noexcept nogil
    void fim_store_int "fim_store"(int *, int) noexcept nogil
    void fim_store(int64_t *, int64_t) noexcept nogil
    int64_t fim_add(int64_t *, int64_t) noexcept nogil
    bint fim_try_lock(int *) noexcept nogil
    void fim_unlock(int *) noexcept nogil
    void fim_prefetch(const void *) noexcept nogil
    int fim_lowest_bit(uint64_t) noexcept nogil
    int fim_ones(uint64_t) noexcept nogil
    void fim_sort_short(const int32_t *, int64_t, int32_t *) noexcept nogil
    int64_t fim_and_count(const uint64_t *, const uint64_t *, int64_t) noexcept nogil
    int64_t fim_and_store(uint64_t *, const uint64_t *, const uint64_t *, int64_t) noexcept nogil

cdef enum:
    # Rows up to this length are sorted by counting.
    SHORT = 48
    # Rows of a node up to which intersections replace enumeration: 2^4 subsets of rows.
    FEW = 4
    # Rows of one unit up to which a bit each tells what was counted before.
    ROWS_OF_UNIT = 64
    # Supports below this are counted without atomics, in a histogram of each thread: 512 kB.
    SMALL = 65536
    # Units that a thread takes at a time.
    UNITS = 64
    # Cells of a node's table of pairs: 1 MB, what a second-level cache holds.
    PAIRS = 262144
    # Steps after which a thread tells the others what it did: less than a millisecond.
    BREATH = 262144
    # Coefficients of closed forms, 64 MB; with longer rows and larger sizes they are not used.
    TERMS = 8388608
    # Intersections of a word each that are as quick as one entry copied out of bitmaps into a row.
    TRANSPOSE = 32
    # Children for each item left in the row from which on each item is looked for among them.
    MANY = 4
    # A unit has fewer rows.
    MOST_TIMES = 2147483647

cdef enum State:
    RUNNING_STATE, STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE

STOPPED, OVER_LIMIT, NO_MEMORY = STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE
FEW_ROWS = FEW


# ------------------------------------------------------------------------------------- preparing the rows


def ranked_lengths(const int32_t[::1] items, const int64_t[::1] offsets, const int32_t[::1] rank_of,
                 int64_t first, int64_t last, int64_t[::1] lengths):
    cdef int64_t row, entry, left
    with nogil:
        for row in range(first, last):
            left = 0
            for entry in range(offsets[row], offsets[row + 1]):
                left += rank_of[items[entry]] >= 0
            lengths[row] = left


def rank_rows(const int32_t[::1] items, const int64_t[::1] offsets, const int32_t[::1] rank_of,
              int64_t first, int64_t last, const int64_t[::1] starts, int32_t[::1] ranks):
    cdef int64_t row, entry, end
    cdef int32_t rank
    cdef int32_t short[SHORT]
    with nogil:
        for row in range(first, last):
            end = 0
            if starts[row + 1] - starts[row] <= SHORT:
                for entry in range(offsets[row], offsets[row + 1]):
                    rank = rank_of[items[entry]]
                    if rank >= 0:
                        short[end] = rank
                        end += 1
                fim_sort_short(short, end, &ranks[0] + starts[row])
                continue
            for entry in range(offsets[row], offsets[row + 1]):
                rank = rank_of[items[entry]]
                if rank >= 0:
                    ranks[starts[row] + end] = rank
                    end += 1
            _sort(&ranks[0] + starts[row], end)


def measure_columns(const int32_t[::1] ranks, const int64_t[::1] starts, int64_t first, int64_t last,
                    int32_t low, int32_t high, int64_t skip, int64_t[::1] counts, int64_t[::1] lengths):
    cdef int64_t row, entry
    cdef int32_t rank
    with nogil:
        for row in range(first, last):
            for entry in range(starts[row] + skip, starts[row + 1]):
                rank = ranks[entry]
                if rank >= high:
                    break
                if rank >= low:
                    counts[rank - low] += 1
                    if lengths is not None:
                        lengths[rank - low] += entry - starts[row] + 1


def fill_columns(const int32_t[::1] ranks, const int64_t[::1] starts, const int32_t[::1] units, int64_t first,
                 int64_t last, int32_t low, int32_t high, int64_t skip, bint copied, int64_t[::1] cursor,
                 int32_t[::1] out):
    cdef int64_t row, entry, length
    cdef int32_t rank
    cdef int32_t *at
    with nogil:
        for row in range(first, last):
            for entry in range(starts[row] + skip, starts[row + 1]):
                rank = ranks[entry]
                if rank >= high:
                    break
                if rank < low:
                    continue
                at = &out[0] + cursor[rank - low]
                if not copied:
                    at[0] = <int32_t>row
                    cursor[rank - low] += 1
                    continue
                length = entry - starts[row] + 1
                cursor[rank - low] += length
                if units is not None:
                    at[0] = units[row]
                    at += 1
                    cursor[rank - low] += 1
                memcpy(at, &ranks[0] + starts[row], length * sizeof(int32_t))


def fill_bitmaps(const int32_t[::1] items, const int64_t[::1] offsets, const int32_t[::1] rank_of, int32_t high,
                 int64_t first, int64_t last, int64_t words, uint64_t[::1] bits):
    cdef int64_t row, entry
    cdef int32_t rank
    with nogil:
        for row in range(first, last):
            for entry in range(offsets[row], offsets[row + 1]):
                rank = items[entry]
                if rank_of is not None:
                    rank = rank_of[rank]
                elif rank >= high:
                    break
                if 0 <= rank < high:
                    bits[rank * words + (row >> 6)] |= <uint64_t>1 << (row & 63)


cdef inline int64_t _root(uint64_t square, int64_t times, int64_t total) noexcept nogil:
    """Return floor(sqrt(square · times / total)), exactly: of a unit with `total` purchases, `times` of this cell.

    square: of the scale, at most 2^32. The root of a quotient is at most 2^16, so the guess is off by 1 at most.
    """
    cdef uint64_t quotient = square * <uint64_t>times // <uint64_t>total
    cdef uint64_t root = <uint64_t>sqrt(<double>quotient)
    root -= root * root > quotient
    root += (root + 1) * (root + 1) <= quotient
    return <int64_t>root


cdef int _ascending(const void *a, const void *b) noexcept nogil:
    cdef uint64_t one = (<const uint64_t *>a)[0]
    cdef uint64_t other = (<const uint64_t *>b)[0]
    return (one > other) - (one < other)


def add_items(const int32_t[::1] items, const int64_t[::1] offsets, const int64_t[::1] unit_offsets,
              int64_t first, int64_t last, const int64_t[::1] weights, int64_t[::1] sums):
    cdef int64_t unit, entry, distinct, weight = 1
    cdef int32_t item
    cdef int64_t[::1] seen
    cdef int32_t[::1] own
    if unit_offsets is None:
        with nogil:
            if weights is None:
                for entry in range(offsets[first], offsets[last]):
                    sums[items[entry]] += 1
            for unit in range(first, last if weights is not None else first):
                weight = weights[offsets[unit + 1] - offsets[unit]]
                for entry in range(offsets[unit], offsets[unit + 1]):
                    sums[items[entry]] += weight
        return
    from numpy import empty, full

    seen = full(len(sums), -1, dtype="int64")
    own = empty(len(sums) + 1, dtype="int32")
    with nogil:
        for unit in range(first, last):
            distinct = 0
            for entry in range(offsets[unit_offsets[unit]], offsets[unit_offsets[unit + 1]]):
                item = items[entry]
                own[distinct] = item
                distinct += seen[item] != unit
                seen[item] = unit
            if weights is not None:
                weight = weights[distinct]
            for entry in range(distinct):
                sums[own[entry]] += weight


def add_purchases(const int32_t[::1] items, const int64_t[::1] offsets, const int64_t[::1] unit_offsets,
                  int64_t first, int64_t last, int64_t scale, int64_t most, int64_t[::1] sums):
    from numpy import empty, zeros

    cdef int64_t unit, entry, k, distinct, left, total, weight, begin, end
    cdef int32_t item
    cdef uint64_t square = scale * scale
    cdef int32_t[::1] times = zeros(len(sums) + 1, dtype="int32")
    # What is bought most often first, and of as much what has the smallest code: ~times above, the code below.
    cdef uint64_t[::1] own = empty(len(sums) + 1, dtype="uint64")
    with nogil:
        for unit in range(first, last):
            begin, end = unit, unit + 1
            if unit_offsets is not None:
                begin, end = unit_offsets[unit], unit_offsets[unit + 1]
            total = offsets[end] - offsets[begin]
            if end - begin == 1:  # each item once, and by their codes
                total = min(total, most)
                weight = _root(square, 1, max(total, 1))
                for entry in range(offsets[begin], offsets[begin] + total):
                    sums[items[entry]] += weight
                continue
            distinct = 0
            for entry in range(offsets[begin], offsets[end]):
                item = items[entry]
                own[distinct] = item
                distinct += times[item] == 0
                times[item] += 1
            left = distinct
            if distinct > most:
                for k in range(distinct):
                    own[k] |= <uint64_t>(MOST_TIMES - times[own[k]]) << 32
                qsort(&own[0], distinct, sizeof(uint64_t), _ascending)
                for k in range(distinct):
                    own[k] &= 0xffffffff
                left, total = most, 0
                for k in range(left):
                    total += times[own[k]]
            weight = _root(square, 1, max(total, 1))
            for k in range(left):
                sums[own[k]] += weight if times[own[k]] == 1 else _root(square, times[own[k]], total)
            for k in range(distinct):
                times[own[k]] = 0


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

    seen: for each rank a bit for each row before that has it, 0 at first and in the end; here: those of the row's
    own ranks. Two ranks have met before if they share a bit: a small array to look at, in place of a second table.
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


cdef void _sort(int32_t *values, int64_t length) noexcept nogil:
    """Insertion sort; Shell's for long rows."""
    cdef int64_t gap = 1, i, j
    cdef int32_t value
    while length > 32 and gap < length // 5:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for i in range(gap, length):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = 0 if gap == 1 else (gap * 4 // 9 if gap > 2 else 1)


# ---------------------------------------------------------------------------------------------- the scan

cdef struct Shared:
    int size
    int64_t ceiling             # supports from here on are known already
    int64_t wanted              # itemsets after which the floor may rise; 0: it stays
    int64_t max_work            # steps; < 0: no limit
    int32_t list_items          # whether itemsets are written down
    int64_t *histogram          # (ceiling,)
    int64_t floor
    int64_t found               # since the floor was last looked at
    int64_t few[FEW + 1]        # itemsets of few rows, for raising the floor only
    int64_t work
    int64_t next_rank
    int state
    int raising

cdef struct Table:              # without rows to go through: the rows are in one stream, the unit before each
    const int32_t *ranks
    const int64_t *starts
    const int32_t *units        # NULL: each row is a unit

cdef struct Depth:              # buffers of one level of recursion, used again and again, and the room that they have
    int32_t *ranks
    int64_t *starts
    int32_t *units
    int64_t *columns
    int32_t *rows
    uint64_t *bits
    int32_t *names              # global rank of each local one
    int64_t ranks_room, starts_room, units_room, columns_room, rows_room, bits_room, names_room

cdef struct Worker:
    Shared *shared
    void *scan                  # whom to tell about the work: of one thread at most, NULL in the others
    uint32_t *count             # (ranks,) zero between nodes
    int32_t *mark               # (ranks,) the unit last counted, where count is not 0
    int32_t *touched            # (ranks,)
    uint32_t *cells             # (PAIRS,) zero between nodes
    int32_t *marks              # (PAIRS,)
    Depth *depths               # (size,)
    int64_t *small              # (SMALL,)
    uint64_t *seen              # (2 ranks,) zero between units; where all pairs of a table are counted only
    int64_t *terms              # (FEW + 1, size, longest + 1): coefficients of C(length, more)
    int64_t first_term, last_term  # the others are 0
    int64_t longest, work, found
    int32_t *chosen             # (size,)
    int32_t *listed
    int64_t listed_size, listed_room
    # Of passes over units only.
    int32_t *hits               # (2 cells + 1,) different cells of the present unit, and behind them those of a row
    int64_t hit                 # how many
    int32_t *times              # (cells + 1,) how often the unit hits each of them, where it has several rows; else 0
    int64_t *sums               # (cells + 1,)
    int64_t *having             # (cells + 1,)
    int32_t *row                # (width + 1,) the row's item numbers, ascending: of those that a candidate has
    int32_t *place              # (width + 1,) where each is in the row, plus 1; 0 where it is not
    int32_t *nodes              # (nodes + 1,) found, to be extended
    int32_t *places             # (nodes + 1,) where the last item of each is in the row
    int32_t *repeats            # (ranks + 1,) how often the unit repeats each that it has
    void *owned[16]             # what _zeros has made
    int owns


cdef void *_zeros(Worker *w, int64_t count, size_t width) noexcept nogil:
    """Return room for so many of that width, all 0; NULL, and the end of the pass, where there is too little memory."""
    cdef void *made = calloc(count + 1, width)
    if made == NULL:
        fim_store_int(&w.shared.state, NO_MEMORY_STATE)
        return NULL
    w.owned[w.owns] = made
    w.owns += 1
    return made


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


cdef void _breathe(Worker *w) noexcept nogil:
    """Report how much was done, and stop at the limit."""
    cdef int64_t total = fim_add(&w.shared.work, w.work) + w.work
    w.work = 0
    if w.shared.max_work >= 0 and total > w.shared.max_work and fim_load_int(&w.shared.state) == 0:
        fim_store_int(&w.shared.state, OVER_LIMIT_STATE)
    if w.scan != NULL:
        _report(w.scan)


cdef void _report(void *scan) noexcept with gil:
    """Let the thread that watches look up: progress, Ctrl-C."""
    if (<Pass>scan).failure is not None:
        return  # it ends already
    try:
        (<Pass>scan).tick()
    except BaseException as failure:
        (<Pass>scan).failure = failure
        (<Pass>scan).stop()


cdef inline bint _goes_on(Worker *w) noexcept nogil:
    if w.work >= BREATH:
        _breathe(w)
    return fim_load_int(&w.shared.state) == 0


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
    """Let the floor be the support of the wanted-th itemset found so far, which can only rise.

    Whatever is found later, and by whichever thread, the final floor is that of all itemsets: below it
    nothing is reported, and from it on nothing was ever left out.
    """
    cdef Shared *s = w.shared
    cdef int64_t support, enough, seen = 0
    fim_add(&s.found, w.found)
    w.found = 0
    enough = s.wanted // 8 + 1
    if fim_load(&s.found) < enough or not fim_try_lock(&s.raising):
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
    """Count the ranks below bound over the rows' prefixes; write the ranks met to touched, return how many.

    Returns -1 where so many are met that it is cheaper to look at all of them.
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
        _sort(w.touched, met)
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

    C(|A|, more) of them lie in every row of a set of rows with intersection A; those in no further row follow by
    inclusion and exclusion, and have the support of that set: its number of units.
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
                sign = 1
                for row in range(n):
                    if (other ^ subset) >> row & 1:
                        sign = -sign
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
        _sort(w.touched, met)
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
    if n < fim_load(&w.shared.floor) or n == 0 or bound < more or not _goes_on(w):
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
    cdef int64_t row, cell
    if local.units != NULL:
        memset(w.marks, 0, cells * sizeof(int32_t))
    for row in range(n):
        if local.units == NULL:
            _pairs_of_row(local.ranks + local.starts[row], local.starts[row + 1] - local.starts[row], left, w.cells,
                          NULL, 0)
        else:
            _pairs_of_row(local.ranks + local.starts[row], local.starts[row + 1] - local.starts[row], left, w.cells,
                          w.marks, local.units[row])
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
    cdef int64_t shared, entries = 0, floor = fim_load(&w.shared.floor)
    cdef int64_t support = fim_and_count(own, own, words)
    if support < floor or not _goes_on(w):
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
        if _sparse(left, words, support, entries, more - 1):
            _extend_rows(w, own, left, words, support, entries, more - 1, depth)
        else:
            for other in range(more - 2, left):
                _intersect_last(w, d.bits, other, words, more - 1, depth + 1)
    if w.shared.wanted and w.found > w.shared.wanted // 16:
        _raise_floor(w)


cdef inline bint _sparse(int32_t left, int64_t words, int64_t support, int64_t entries, int more) noexcept nogil:
    """Whether to go on with rows takes fewer steps than with bitmaps, most of whose bits are 0 by now."""
    cdef double intersections = <double>left * (left - 1) / 2
    if more > 2:  # at least so many at the next step, and each of these in fewer words
        intersections *= left - 1
    return intersections * (words - support // 64) > TRANSPOSE * <double>entries


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


cdef class Pass:
    """Work by any number of threads that call `run`, under a limit; see kernel.pyi."""

    cdef Shared shared
    cdef int64_t end            # of next_rank
    cdef object tick, failure

    def run(self, tick=None):
        cdef Worker worker
        if fim_load(&self.shared.next_rank) >= self.end:
            return  # the others were faster
        memset(&worker, 0, sizeof(worker))
        worker.shared = &self.shared
        if tick is not None:
            self.tick, worker.scan = tick, <void *>self
        try:
            with nogil:
                self._prepare(&worker)
                self._work(&worker)
                _breathe(&worker)
            if self.shared.state != NO_MEMORY_STATE:
                self._collect(&worker)  # under the interpreter's lock, one thread after the other
        finally:
            _free(&worker)
            if tick is not None:
                self.tick = None  # which may know this pass, and with it all the arrays
        if tick is not None and self.failure is not None:
            raise self.failure

    cdef void _prepare(self, Worker *w) noexcept nogil:
        """Make what this kind of pass needs; where there is too little memory, the pass ends."""

    cdef void _work(self, Worker *w) noexcept nogil:
        """Take what is next, again and again."""

    cdef _collect(self, Worker *w):
        """Add up what a thread has found."""

    def stop(self):
        fim_store_int(&self.shared.state, STOPPED_STATE)

    @property
    def state(self):
        return fim_load_int(&self.shared.state)


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
            w.cells = <uint32_t *>_zeros(w, self.cells.shape[0], sizeof(uint32_t))
            w.seen = <uint64_t *>_zeros(w, 2 * self.pair_ranks, sizeof(uint64_t))
            return
        w.depths = <Depth *>_zeros(w, self.shared.size, sizeof(Depth))
        w.chosen = <int32_t *>_zeros(w, self.shared.size, sizeof(int32_t))
        w.count = <uint32_t *>_zeros(w, self.high, sizeof(uint32_t))
        w.mark = <int32_t *>_zeros(w, self.high, sizeof(int32_t))
        w.touched = <int32_t *>_zeros(w, self.high, sizeof(int32_t))
        w.cells = <uint32_t *>_zeros(w, PAIRS, sizeof(uint32_t))
        w.marks = <int32_t *>_zeros(w, PAIRS, sizeof(int32_t))
        w.small = <int64_t *>_zeros(w, SMALL, sizeof(int64_t))
        if not self.shared.list_items and terms < TERMS:
            w.terms = <int64_t *>calloc(terms, sizeof(int64_t))  # it does without

    cdef void _work(self, Worker *w) noexcept nogil:
        if self.cells is not None:
            self._work_through_pairs(w)
        elif self.bits is None:
            self._work_through_columns(w)
        else:
            self._work_through_bitmaps(w)

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
        while _goes_on(w):
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

    cdef void _work_through_bitmaps(self, Worker *w) noexcept nogil:
        cdef int64_t rank
        while _goes_on(w):
            rank = fim_add(&self.shared.next_rank, 1)
            if rank >= self.high:
                return
            _intersect_last(w, &self.bits[0], <int32_t>rank, self.words, self.shared.size, 0)

    cdef void _work_through_pairs(self, Worker *w) noexcept nogil:
        cdef const int32_t *ranks = &self.ranks[0]
        cdef const int64_t *starts = &self.starts[0]
        cdef int64_t unit, row, first, last
        while _goes_on(w):
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
                        w.marks = <int32_t *>_zeros(w, self.cells.shape[0], sizeof(int32_t))
                    if w.marks == NULL:
                        return
                    for row in range(first, last):
                        w.work += _pairs_of_row(ranks + starts[row], starts[row + 1] - starts[row], self.pair_ranks,
                                                w.cells, w.marks, <int32_t>unit)
                        if not _goes_on(w):
                            return
                if not _goes_on(w):
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

    @property
    def floor(self):
        return self.shared.floor

    @property
    def work(self):
        return fim_load(&self.shared.work)

    @property
    def next_rank(self):
        return min(fim_load(&self.shared.next_rank), self.high)


cdef void _free(Worker *w) noexcept:
    cdef int k
    cdef Depth *d
    for k in range(w.shared.size + 1 if w.depths != NULL else 0):
        d = &w.depths[k]
        free(d.ranks); free(d.starts); free(d.units); free(d.columns); free(d.rows); free(d.bits); free(d.names)
    for k in range(w.owns):
        free(w.owned[k])
    free(w.listed); free(w.terms)


def prefixes(const int32_t[::1] ranks, const int64_t[::1] starts, const int32_t[::1] rows, int32_t bound,
             int64_t[::1] out_starts, int32_t[::1] out):
    cdef int64_t k, entry, end = 0
    with nogil:
        for k in range(rows.shape[0]):
            out_starts[k] = end
            entry = starts[rows[k]]
            while ranks[entry] < bound:
                if out is not None:
                    out[end] = ranks[entry]
                end += 1
                entry += 1
        out_starts[rows.shape[0]] = end


# ---------------------------------------------------------------------------------- passes over units


cdef int64_t _distinct(Worker *w, int64_t before) noexcept nogil:
    """Leave out those of the present hits from `before` on that are there already; return how many are left."""
    cdef int64_t k, count = before
    cdef int32_t cell
    for k in range(before, w.hit):
        cell = w.hits[k]
        w.hits[count] = cell
        # Without a branch: whether a unit hit a cell before is as good as random.
        count += w.times[cell] == 0
        w.times[cell] += 1
    return count


cdef class UnitScan(Pass):
    """One pass over all units; see kernel.pyi."""

    cdef const int32_t[::1] ranks, repeats
    cdef const int64_t[::1] starts, unit_starts, weights
    cdef int64_t[::1] sums, having
    cdef int64_t cells, scale

    def __init__(self, const int32_t[::1] ranks, const int64_t[::1] starts, const int64_t[::1] unit_starts,
                 int64_t cells, const int64_t[::1] weights, int64_t[::1] sums, int64_t[::1] having, int64_t max_work):
        self.ranks, self.starts, self.unit_starts = ranks, starts, unit_starts
        self.cells, self.weights, self.sums, self.having = cells, weights, sums, having
        self.end = (starts if unit_starts is None else unit_starts).shape[0] - 1
        self.shared.max_work, self.repeats = max_work, None

    def weigh_purchases(self, int64_t scale, const int32_t[::1] repeats):
        self.scale, self.repeats = scale, repeats

    cdef void _prepare(self, Worker *w) noexcept nogil:
        w.hits = <int32_t *>_zeros(w, 2 * self.cells, sizeof(int32_t))
        w.times = <int32_t *>_zeros(w, self.cells, sizeof(int32_t))
        w.sums = <int64_t *>_zeros(w, self.cells, sizeof(int64_t))
        w.having = <int64_t *>_zeros(w, self.cells, sizeof(int64_t))

    cdef _collect(self, Worker *w):
        cdef int64_t cell
        if self.sums is not None:
            for cell in range(self.cells):
                self.sums[cell] += w.sums[cell]
        if self.having is not None:
            for cell in range(self.cells + 1):
                self.having[cell] += w.having[cell]

    cdef void _row(self, Worker *w, const int32_t *ranks, int64_t length, bint listed) noexcept nogil:
        """Collect what a row hits, behind what is there. listed: whether it has to be, though no weight is unknown."""

    cdef int64_t _repeat(self, Worker *w, const int32_t *ranks, const int32_t *repeats, int64_t length) noexcept nogil:
        """Set how often the unit of a row hits what it hits, as often as it repeats the rarest rank; return the sum."""
        return 0

    cdef void _work(self, Worker *w) noexcept nogil:
        cdef const int32_t *ranks = NULL
        cdef int64_t unit, row, first, last, before, k, weight, total
        cdef int32_t cell, times
        cdef uint64_t square = self.scale * self.scale
        cdef bint several, repeated = self.repeats is not None
        if self.ranks.shape[0]:
            ranks = &self.ranks[0]
        while _goes_on(w):
            unit = fim_add(&self.shared.next_rank, UNITS)
            if unit >= self.end:
                break
            for unit in range(unit, min(unit + UNITS, self.end)):
                first, last = unit, unit + 1
                if self.unit_starts is not None:
                    first, last = self.unit_starts[unit], self.unit_starts[unit + 1]
                several = last - first > 1
                w.hit, total = 0, 0
                for row in range(first, last):
                    w.work += 1
                    before = w.hit
                    if self.starts[row + 1] > self.starts[row]:
                        self._row(w, ranks + self.starts[row], self.starts[row + 1] - self.starts[row],
                                  several or repeated)
                    if several:
                        total += w.hit - before
                        w.hit = _distinct(w, before)
                    elif repeated and w.hit:
                        total = self._repeat(w, ranks + self.starts[row], &self.repeats[self.starts[row]],
                                             self.starts[row + 1] - self.starts[row])
                    if not _goes_on(w):
                        break
                w.having[w.hit] += 1
                if w.hit == 0:
                    continue
                if self.scale and (several or repeated):
                    # Most are hit once.
                    weight = _root(square, 1, total)
                    for k in range(w.hit):
                        cell = w.hits[k]
                        times = w.times[cell]
                        w.times[cell] = 0
                        w.sums[cell] += weight if times == 1 else _root(square, times, total)
                else:
                    if self.sums is not None:
                        weight = self.weights[w.hit]
                        for k in range(w.hit):
                            w.sums[w.hits[k]] += weight
                    if several:
                        for k in range(w.hit):
                            w.times[w.hits[k]] = 0
                w.work += w.hit

    @property
    def fraction(self):
        return min(fim_load(&self.shared.next_rank), self.end) / max(self.end, 1)


cdef class PairScan(UnitScan):
    """The weighted sums of all pairs a < b of the ranks: the cell b(b - 1)/2 + a."""

    cdef void _row(self, Worker *w, const int32_t *ranks, int64_t length, bint listed) noexcept nogil:
        cdef int64_t a, b, weight, base
        cdef int64_t *line
        w.work += length * (length - 1) // 2
        if listed:
            for b in range(1, length):
                base = <int64_t>ranks[b] * (ranks[b] - 1) // 2
                for a in range(b):
                    w.hits[w.hit] = <int32_t>(base + ranks[a])
                    w.hit += 1
            return
        # No cell is hit twice: their number is known, and they need no list.
        weight = self.weights[length * (length - 1) // 2]
        for b in range(1, length):
            line = w.sums + <int64_t>ranks[b] * (ranks[b] - 1) // 2
            for a in range(b):
                line[ranks[a]] += weight

    cdef int64_t _repeat(self, Worker *w, const int32_t *ranks, const int32_t *repeats, int64_t length) noexcept nogil:
        cdef int64_t a, b, base, total = 0
        cdef int32_t least
        for b in range(1, length):
            base = <int64_t>ranks[b] * (ranks[b] - 1) // 2
            for a in range(b):
                least = min(repeats[a], repeats[b])
                w.times[base + ranks[a]] = least
                total += least
        return total


cdef struct Node:               # of a trie
    int32_t accept              # the candidate that it ends, -1 for none
    int32_t first               # its children are first..first + children
    int32_t children


cdef class CandidateScan(UnitScan):
    """The weighted sums of the candidates of a trie, and how many of them units hold."""

    cdef const int32_t[::1] number_of, items
    cdef const int32_t[:, ::1] members   # (cells, r) the ranks of each candidate, where repeats tell its weight
    cdef Node *nodes            # (nodes + 1,)
    cdef int32_t *firsts        # (width + 1,) the root's child by each item, 0 for none
    cdef uint64_t *bits         # (width, span) by which items, a bit each, the root's child by each item has children
    cdef int32_t *before        # (width, span) the first of these children that has its bit in this word or behind
    cdef int64_t width, span, size

    def __cinit__(self):
        self.nodes, self.firsts, self.bits, self.before = NULL, NULL, NULL, NULL

    def __dealloc__(self):
        free(self.nodes); free(self.bits); free(self.before); free(self.firsts)

    def set_trie(self, const int32_t[::1] number_of, int64_t width, const int32_t[::1] items,
                 const int64_t[::1] children, const int32_t[::1] accepts, const int32_t[:, ::1] members):
        cdef int64_t node, first, child, word
        self.number_of, self.items, self.width, self.members = number_of, items, width, members
        self.size, self.span = accepts.shape[0], (width + 63) // 64
        self.nodes = <Node *>calloc(self.size + 1, sizeof(Node))
        self.firsts = <int32_t *>calloc(width + 1, sizeof(int32_t))
        self.bits = <uint64_t *>calloc(width * self.span + 1, sizeof(uint64_t))
        self.before = <int32_t *>calloc(width * self.span + 1, sizeof(int32_t))
        if self.nodes == NULL or self.firsts == NULL or self.bits == NULL or self.before == NULL:
            raise MemoryError("not enough memory to look up candidates")
        for node in range(self.size):
            self.nodes[node].accept = accepts[node]
            self.nodes[node].first = <int32_t>children[node]
            self.nodes[node].children = <int32_t>(children[node + 1] - children[node])
        for first in range(children[0], children[1]):
            self.firsts[items[first]] = <int32_t>first
            child = children[first]
            for word in range(items[first] * self.span, (items[first] + 1) * self.span):
                self.before[word] = <int32_t>child
                while child < children[first + 1] and items[child] >> 6 == word - items[first] * self.span:
                    self.bits[word] |= <uint64_t>1 << (items[child] & 63)
                    child += 1

    cdef void _prepare(self, Worker *w) noexcept nogil:
        UnitScan._prepare(self, w)
        w.row = <int32_t *>_zeros(w, self.width, sizeof(int32_t))
        w.place = <int32_t *>_zeros(w, self.width, sizeof(int32_t))
        w.nodes = <int32_t *>_zeros(w, self.size, sizeof(int32_t))
        w.places = <int32_t *>_zeros(w, self.size, sizeof(int32_t))
        w.repeats = <int32_t *>_zeros(w, self.number_of.shape[0], sizeof(int32_t))

    cdef int64_t _repeat(self, Worker *w, const int32_t *ranks, const int32_t *repeats, int64_t length) noexcept nogil:
        cdef int64_t k, j, total = 0
        cdef int32_t cell, least
        for k in range(length):
            w.repeats[ranks[k]] = repeats[k]
        for k in range(w.hit):
            cell = w.hits[k]
            least = MOST_TIMES
            for j in range(self.members.shape[1]):
                least = min(least, w.repeats[self.members[cell, j]])
            w.times[cell] = least
            total += least
        return total

    cdef void _row(self, Worker *w, const int32_t *ranks, int64_t length, bint listed) noexcept nogil:
        # Hardly a branch depends on what is in the row: what is found is written down, and counted if it was there.
        cdef const int32_t *number_of = &self.number_of[0]
        cdef const Node *nodes = self.nodes
        cdef const int32_t *firsts = self.firsts
        cdef const uint64_t *bits
        cdef int32_t *row = w.row
        cdef int32_t *hits = w.hits
        cdef int32_t *waits = w.nodes
        cdef int32_t *places = w.places
        cdef int64_t k, i, j, word, span = self.span, left = 0, pairs = 0, waiting = 0, count = w.hit
        cdef int32_t item, accept, node
        for k in range(length - 1, -1, -1):
            item = number_of[ranks[k]]
            row[left] = item
            left += item >= 0
        for i in range(left):
            accept = nodes[firsts[row[i]]].accept
            hits[count] = accept
            count += accept >= 0
        for i in range(left - 1):
            bits = self.bits + row[i] * span
            for j in range(i + 1, left):
                item = row[j]
                waits[pairs], places[pairs] = <int32_t>i, <int32_t>j
                pairs += bits[item >> 6] >> (item & 63) & 1
        for k in range(pairs):
            j = places[k]
            item = row[j]
            word = row[waits[k]] * span + (item >> 6)
            node = self.before[word] + fim_ones(self.bits[word] & ((<uint64_t>1 << (item & 63)) - 1))
            accept = nodes[node].accept
            hits[count] = accept
            count += accept >= 0
            waits[waiting], places[waiting] = node, <int32_t>j
            waiting += (nodes[node].children > 0) & (j + 1 < left)
        w.work += length + left * (left - 1) // 2 + pairs
        w.hit = count
        if waiting:
            self._go_on(w, left, waiting)

    cdef void _go_on(self, Worker *w, int64_t left, int64_t waiting) noexcept nogil:
        """Look for what begins with the nodes that wait, and with what is found."""
        cdef const Node *nodes = self.nodes
        cdef const int32_t *items = &self.items[0]
        cdef const int32_t *row = w.row
        cdef int32_t *place = w.place
        cdef int32_t *hits = w.hits
        cdef int32_t *waits = w.nodes
        cdef int32_t *places = w.places
        cdef int64_t k = 0, child, low, middle, high, end, j, work = 0, count = w.hit
        cdef int32_t item, found
        for j in range(left):
            place[row[j]] = <int32_t>(j + 1)
        while k < waiting:
            low, j = nodes[waits[k]].first, places[k] + 1
            end = low + nodes[waits[k]].children
            k += 1
            if end - low < MANY * (left - j):
                work += end - low
                for child in range(low, end):
                    found = place[items[child]]
                    hits[count] = nodes[child].accept
                    count += (found > 0) & (nodes[child].accept >= 0)
                    waits[waiting], places[waiting] = <int32_t>child, found - 1
                    waiting += (found > 0) & (nodes[child].children > 0)
                continue
            work += MANY * (left - j)
            for j in range(j, left):
                item = row[j]
                high = end
                while low < high:
                    middle = (low + high) >> 1
                    if items[middle] < item:
                        low = middle + 1
                    else:
                        high = middle
                if low == end:
                    break
                if items[low] == item:
                    hits[count] = nodes[low].accept
                    count += nodes[low].accept >= 0
                    waits[waiting], places[waiting] = <int32_t>low, <int32_t>j
                    waiting += nodes[low].children > 0
        for j in range(left):
            place[row[j]] = 0
        w.work += work
        w.hit = count
