# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The kernel of weighted counting: what each unit holds of a list of cells is added to a table, with a weight.

A unit's weight depends on which different cells it *hits*, so these are collected first: a list, and for a unit of
several rows how often it hits each of them. Cells are pairs of items, or the candidates of a trie. Rows are as in
`kernel.pyx`: a row holds its ranks ascending, 0 being the most frequent.

Candidates are looked for from a row's rarest item on, so that few beginnings are met. The children of the root are in
a table, those of its children in bitmaps over the items; further down a node has few, of which each is looked for
among the row's items, or many, among which each of the row's items is.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memset

cdef extern from *:
    """
    #include <stdint.h>
    #define fim_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
    #define fim_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
    #define fim_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

    /* How many bits are set. The builtin is a call where the processor's instruction may not be taken for granted. */
    static inline int fim_ones(uint64_t x) {
        x -= x >> 1 & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
        return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
    }
    """
    int fim_load_int "fim_load"(int *) noexcept nogil
    int64_t fim_load(int64_t *) noexcept nogil
    void fim_store_int "fim_store"(int *, int) noexcept nogil
    int64_t fim_add(int64_t *, int64_t) noexcept nogil
    int fim_ones(uint64_t) noexcept nogil

cdef enum:
    # Units that a thread takes at a time.
    UNITS = 64
    # Steps after which a thread tells the others what it did: less than a millisecond.
    BREATH = 262144
    # Children for each item left in the row from which on each item is looked for among them.
    MANY = 4
    # A unit has fewer rows.
    MOST_TIMES = 2147483647

cdef enum State:
    RUNNING_STATE, STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE

STOPPED, OVER_LIMIT, NO_MEMORY = STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE


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
    """Add to the sum of each item the weights of those of the units first..last that have it; 1 without weights."""
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
    """Add to the sum of each item the root of its part of all purchases of a unit, of the units first..last."""
    from numpy import empty, zeros

    cdef int64_t unit, entry, k, distinct, kept, total, weight, begin, end
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
            kept = distinct
            if distinct > most:
                for k in range(distinct):
                    own[k] |= <uint64_t>(MOST_TIMES - times[own[k]]) << 32
                qsort(&own[0], distinct, sizeof(uint64_t), _ascending)
                for k in range(distinct):
                    own[k] &= 0xffffffff
                kept, total = most, 0
                for k in range(kept):
                    total += times[own[k]]
            weight = _root(square, 1, max(total, 1))
            for k in range(kept):
                sums[own[k]] += weight if times[own[k]] == 1 else _root(square, times[own[k]], total)
            for k in range(distinct):
                times[own[k]] = 0


# ------------------------------------------------------------------------------------------ a pass over units

cdef struct Worker:
    void *scan                  # whom to tell about the work: of one thread at most, NULL in the others
    int64_t work
    int32_t *hits               # (2 cells + 1,) different cells of the present unit, and behind them those of a row
    int64_t count               # how many
    int32_t *times              # (cells + 1,) how often the unit hits each of them, where it has several rows; else 0
    int64_t *sums               # (cells + 1,)
    int64_t *held               # (cells + 1,)
    # Of candidates only.
    int32_t *row                # (width + 1,) the row's item numbers, ascending: of those that a candidate has
    int32_t *place              # (width + 1,) where each is in the row, plus 1; 0 where it is not
    int32_t *nodes              # (nodes + 1,) found, to be extended
    int32_t *places             # (nodes + 1,) where the last item of each is in the row
    int32_t *repeats            # (ranks + 1,) how often the unit repeats each that it has


cdef int64_t _distinct(Worker *w, int64_t before) noexcept nogil:
    """Leave out those of the present hits from `before` on that are there already; return how many are left."""
    cdef int64_t k, count = before
    cdef int32_t cell
    for k in range(before, w.count):
        cell = w.hits[k]
        w.hits[count] = cell
        # Without a branch: whether a unit hit a cell before is as good as random.
        count += w.times[cell] == 0
        w.times[cell] += 1
    return count


cdef class UnitScan:
    """One pass over all units, by any number of threads that call `run`: see candidate_kernel.pyi."""

    cdef const int32_t[::1] ranks, repeats
    cdef const int64_t[::1] starts, unit_starts, weights
    cdef int64_t[::1] sums, held
    cdef int64_t cells, units, max_work, done, following, scale
    cdef int condition
    cdef object tick, failure

    def __init__(self, const int32_t[::1] ranks, const int64_t[::1] starts, const int64_t[::1] unit_starts,
                 int64_t cells, const int64_t[::1] weights, int64_t[::1] sums, int64_t[::1] held, int64_t max_work):
        self.ranks, self.starts, self.unit_starts = ranks, starts, unit_starts
        self.cells, self.weights, self.sums, self.held = cells, weights, sums, held
        self.units = (starts if unit_starts is None else unit_starts).shape[0] - 1
        self.max_work = max_work
        self.scale, self.repeats = 0, None
        self.tick = self.failure = None

    def weigh_purchases(self, int64_t scale, const int32_t[::1] repeats):
        """Weigh each cell by its part of all that a unit hits; see candidate_kernel.pyi."""
        self.scale, self.repeats = scale, repeats

    def run(self, tick=None):
        """Work until no unit is left, or the pass is stopped. Any number of threads may be in here."""
        cdef Worker worker
        cdef int64_t cell
        if fim_load(&self.following) >= self.units:
            return  # the others were faster
        memset(&worker, 0, sizeof(worker))
        if tick is not None:
            self.tick, worker.scan = tick, <void *>self
        try:
            worker.hits = <int32_t *>calloc(2 * self.cells + 1, sizeof(int32_t))
            worker.times = <int32_t *>calloc(self.cells + 1, sizeof(int32_t))
            worker.sums = <int64_t *>calloc(self.cells + 1, sizeof(int64_t))
            worker.held = <int64_t *>calloc(self.cells + 1, sizeof(int64_t))
            if (worker.hits == NULL or worker.times == NULL or worker.sums == NULL or worker.held == NULL
                    or not self._prepare(&worker)):
                fim_store_int(&self.condition, NO_MEMORY_STATE)
                return
            with nogil:
                self._work(&worker)
            # Under the interpreter's lock, one thread after the other.
            if self.sums is not None:
                for cell in range(self.cells):
                    self.sums[cell] += worker.sums[cell]
            if self.held is not None:
                for cell in range(self.cells + 1):
                    self.held[cell] += worker.held[cell]
        finally:
            free(worker.hits); free(worker.times); free(worker.sums); free(worker.held); free(worker.row)
            free(worker.place); free(worker.nodes); free(worker.places); free(worker.repeats)
            if tick is not None:
                self.tick = None  # which may know this scan, and with it all the arrays
        if tick is not None and self.failure is not None:
            raise self.failure

    cdef bint _prepare(self, Worker *w) noexcept:
        """Make what this kind of pass needs beside; False where there is too little memory."""
        return True

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
        while self._goes_on(w):
            unit = fim_add(&self.following, UNITS)
            if unit >= self.units:
                break
            for unit in range(unit, min(unit + UNITS, self.units)):
                first, last = unit, unit + 1
                if self.unit_starts is not None:
                    first, last = self.unit_starts[unit], self.unit_starts[unit + 1]
                several = last - first > 1
                w.count, total = 0, 0
                for row in range(first, last):
                    w.work += 1
                    before = w.count
                    if self.starts[row + 1] > self.starts[row]:
                        self._row(w, ranks + self.starts[row], self.starts[row + 1] - self.starts[row],
                                  several or repeated)
                    if several:
                        total += w.count - before
                        w.count = _distinct(w, before)
                    elif repeated and w.count:
                        total = self._repeat(w, ranks + self.starts[row], &self.repeats[self.starts[row]],
                                             self.starts[row + 1] - self.starts[row])
                    if not self._goes_on(w):
                        break
                w.held[w.count] += 1
                if w.count == 0:
                    continue
                if self.scale and (several or repeated):
                    # Most are hit once.
                    weight = _root(square, 1, total)
                    for k in range(w.count):
                        cell = w.hits[k]
                        times = w.times[cell]
                        w.times[cell] = 0
                        w.sums[cell] += weight if times == 1 else _root(square, times, total)
                else:
                    if self.sums is not None:
                        weight = self.weights[w.count]
                        for k in range(w.count):
                            w.sums[w.hits[k]] += weight
                    if several:
                        for k in range(w.count):
                            w.times[w.hits[k]] = 0
                w.work += w.count
        self._breathe(w)

    cdef inline bint _goes_on(self, Worker *w) noexcept nogil:
        if w.work >= BREATH:
            self._breathe(w)
        return fim_load_int(&self.condition) == 0

    cdef void _breathe(self, Worker *w) noexcept nogil:
        """Tell how much was done, and stop at the limit."""
        cdef int64_t total = fim_add(&self.done, w.work) + w.work
        w.work = 0
        if total > self.max_work and fim_load_int(&self.condition) == 0:
            fim_store_int(&self.condition, OVER_LIMIT_STATE)
        if w.scan != NULL:
            self._tell()

    cdef void _tell(self) noexcept with gil:
        """Let the thread that watches look up: progress, Ctrl-C."""
        if self.failure is not None:
            return  # it is on its way out
        try:
            self.tick()
        except BaseException as failure:
            self.failure = failure
            self.stop()

    def stop(self):
        """Make every thread return soon."""
        fim_store_int(&self.condition, STOPPED_STATE)

    @property
    def state(self):
        return fim_load_int(&self.condition)

    @property
    def fraction(self):
        return min(fim_load(&self.following), self.units) / max(self.units, 1)


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
                    w.hits[w.count] = <int32_t>(base + ranks[a])
                    w.count += 1
            return
        # No cell is hit twice: their number is known, and they need not be kept.
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
                 const int64_t[::1] children, const int32_t[::1] accepts):
        """Set what to look for; see candidate_kernel.pyi."""
        cdef int64_t node, first, child, word
        self.number_of, self.items, self.width = number_of, items, width
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

    cdef bint _prepare(self, Worker *w) noexcept:
        w.row = <int32_t *>calloc(self.width + 1, sizeof(int32_t))
        w.place = <int32_t *>calloc(self.width + 1, sizeof(int32_t))
        w.nodes = <int32_t *>calloc(self.size + 1, sizeof(int32_t))
        w.places = <int32_t *>calloc(self.size + 1, sizeof(int32_t))
        w.repeats = <int32_t *>calloc(self.number_of.shape[0] + 1, sizeof(int32_t))
        return (w.row != NULL and w.place != NULL and w.nodes != NULL and w.places != NULL
                and w.repeats != NULL)

    def set_members(self, const int32_t[:, ::1] members):
        """Set the ranks of each candidate; see candidate_kernel.pyi."""
        self.members = members

    cdef int64_t _repeat(self, Worker *w, const int32_t *ranks, const int32_t *repeats, int64_t length) noexcept nogil:
        cdef int64_t k, j, total = 0
        cdef int32_t cell, least
        for k in range(length):
            w.repeats[ranks[k]] = repeats[k]
        for k in range(w.count):
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
        cdef int64_t k, i, j, word, span = self.span, kept = 0, pairs = 0, waiting = 0, count = w.count
        cdef int32_t item, accept, node
        for k in range(length - 1, -1, -1):
            item = number_of[ranks[k]]
            row[kept] = item
            kept += item >= 0
        for i in range(kept):
            accept = nodes[firsts[row[i]]].accept
            hits[count] = accept
            count += accept >= 0
        for i in range(kept - 1):
            bits = self.bits + row[i] * span
            for j in range(i + 1, kept):
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
            waiting += (nodes[node].children > 0) & (j + 1 < kept)
        w.work += length + kept * (kept - 1) // 2 + pairs
        w.count = count
        if waiting:
            self._go_on(w, kept, waiting)

    cdef void _go_on(self, Worker *w, int64_t kept, int64_t waiting) noexcept nogil:
        """Look for what begins with the nodes that wait, and with what is found."""
        cdef const Node *nodes = self.nodes
        cdef const int32_t *items = &self.items[0]
        cdef const int32_t *row = w.row
        cdef int32_t *place = w.place
        cdef int32_t *hits = w.hits
        cdef int32_t *waits = w.nodes
        cdef int32_t *places = w.places
        cdef int64_t k = 0, child, low, middle, high, end, j, work = 0, count = w.count
        cdef int32_t item, found
        for j in range(kept):
            place[row[j]] = <int32_t>(j + 1)
        while k < waiting:
            low, j = nodes[waits[k]].first, places[k] + 1
            end = low + nodes[waits[k]].children
            k += 1
            if end - low < MANY * (kept - j):
                work += end - low
                for child in range(low, end):
                    found = place[items[child]]
                    hits[count] = nodes[child].accept
                    count += (found > 0) & (nodes[child].accept >= 0)
                    waits[waiting], places[waiting] = <int32_t>child, found - 1
                    waiting += (found > 0) & (nodes[child].children > 0)
                continue
            work += MANY * (kept - j)
            for j in range(j, kept):
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
        for j in range(kept):
            place[row[j]] = 0
        w.work += work
        w.count = count
