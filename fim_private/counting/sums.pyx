# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The counting kernel of sums: rows in rank order, and passes over units that add weights; see sums.pyi.

A pass adds what each unit has of a list of cells, pairs of items or candidates of a trie, to a table, with a weight. The
weight depends on which different cells the unit *hits*, so these are collected first: a list, and for a unit of several
rows how often it hits each. Candidates are looked for from a row's rarest item on, so that few beginnings are met. The
children of the root are in a table, those of its children in bitmaps over the items; further down a node has few, of
which each is looked for among the row's items, or many, among which each of the row's items is.

Nothing here looks at Python objects while it works; `compiled.py` prepares the arrays and owns the threads. Under the
interpreter's lock they add up what each of them has found.
"""

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memcpy, memset

cdef extern from *:
    """
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
    """
    int fim_ones(uint64_t) noexcept nogil
    void fim_sort_short(const int32_t *, int64_t, int32_t *) noexcept nogil

cdef enum:
    # Rows up to this length are sorted by counting.
    SHORT = 48
    # Children for each item left in the row from which on each item is looked for among them.
    MANY = 4
    # A unit has fewer rows.
    MOST_TIMES = 2147483647

STOPPED, OVER_LIMIT, NO_MEMORY = STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE


# ----------------------------------------------------------------------------------------------- the rows


cdef void sort(int32_t *values, int64_t length) noexcept nogil:
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
    cdef int32_t *out
    cdef int32_t *own
    with nogil:
        for row in range(first, last):
            end, out = 0, &ranks[0] + starts[row]
            own = &short[0] if starts[row + 1] - starts[row] <= SHORT else out
            for entry in range(offsets[row], offsets[row + 1]):
                rank = rank_of[items[entry]]
                if rank >= 0:
                    own[end] = rank
                    end += 1
            if own == out:
                sort(out, end)
            else:
                fim_sort_short(own, end, out)


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


def fill_bitmaps(const int32_t[::1] items, const int64_t[::1] offsets, const int32_t[::1] rank_of,
                 int64_t first, int64_t last, int64_t words, uint64_t[::1] bits):
    cdef int64_t row, entry
    cdef int32_t rank
    with nogil:
        for row in range(first, last):
            for entry in range(offsets[row], offsets[row + 1]):
                rank = rank_of[items[entry]]
                if rank >= 0:
                    bits[rank * words + (row >> 6)] |= <uint64_t>1 << (row & 63)


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


# ------------------------------------------------------------------------------------------ sums of items


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


# -------------------------------------------------------------------------------------- passes of threads


cdef void *zeros(Worker *w, int64_t count, size_t width) noexcept nogil:
    """Return room for so many of that width, all 0; NULL, and the end of the pass, where there is too little memory."""
    cdef void *made = calloc(count + 1, width)
    if made == NULL:
        fim_store_int(&w.shared.state, NO_MEMORY_STATE)
        return NULL
    w.owned[w.owns] = made
    w.owns += 1
    return made


cdef void breathe(Worker *w) noexcept nogil:
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


cdef class Pass:
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
                breathe(&worker)
            if self.shared.state != NO_MEMORY_STATE:
                self._collect(&worker)  # under the interpreter's lock, one thread after the other
        finally:
            self._free(&worker)
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

    cdef void _free(self, Worker *w) noexcept:
        cdef int k
        for k in range(w.owns):
            free(w.owned[k])

    def stop(self):
        fim_store_int(&self.shared.state, STOPPED_STATE)

    @property
    def state(self):
        return fim_load_int(&self.shared.state)


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
                 int64_t cells, const int64_t[::1] weights, int64_t[::1] sums, int64_t[::1] having, int64_t max_work,
                 int64_t scale, const int32_t[::1] repeats):
        self.ranks, self.starts, self.unit_starts = ranks, starts, unit_starts
        self.cells, self.weights, self.sums, self.having = cells, weights, sums, having
        self.end = (starts if unit_starts is None else unit_starts).shape[0] - 1
        self.shared.max_work, self.scale, self.repeats = max_work, scale, repeats

    cdef void _prepare(self, Worker *w) noexcept nogil:
        w.hits = <int32_t *>zeros(w, 2 * self.cells, sizeof(int32_t))
        w.times = <int32_t *>zeros(w, self.cells, sizeof(int32_t))
        w.sums = <int64_t *>zeros(w, self.cells, sizeof(int64_t))
        w.having = <int64_t *>zeros(w, self.cells, sizeof(int64_t))

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
        while goes_on(w):
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
                    if not goes_on(w):
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
        return min(fim_load(&self.shared.next_rank), self.end) / <double>max(self.end, 1)


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
        w.row = <int32_t *>zeros(w, self.width, sizeof(int32_t))
        w.place = <int32_t *>zeros(w, self.width, sizeof(int32_t))
        w.nodes = <int32_t *>zeros(w, self.size, sizeof(int32_t))
        w.places = <int32_t *>zeros(w, self.size, sizeof(int32_t))
        w.repeats = <int32_t *>zeros(w, self.number_of.shape[0], sizeof(int32_t))

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
