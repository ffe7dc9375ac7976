# cython: language_level=3
"""What the counting kernels share: a pass of several threads under one limit, and what each of them works with."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #define fim_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
    #define fim_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
    #define fim_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

    /* One binary for every x86-64: the loader picks the version for the processor's instructions. Sanitizers do
       not stand the resolver that this needs. */
    #if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(FIM_SANITIZE)
    #define FIM_CLONES __attribute__((target_clones("avx2", "popcnt", "default")))
    #else
    #define FIM_CLONES
    #endif
    """
    int fim_load_int "fim_load"(int *) noexcept nogil
    int64_t fim_load(int64_t *) noexcept nogil
    void fim_store_int "fim_store"(int *, int) noexcept nogil
    void fim_store(int64_t *, int64_t) noexcept nogil
    int64_t fim_add(int64_t *, int64_t) noexcept nogil

cdef enum:
    # Rows of a node up to which intersections replace enumeration: 2^4 subsets of rows.
    FEW = 4
    # Units that a thread takes at a time.
    UNITS = 64
    # Steps after which a thread shares with the others what it did: less than a millisecond.
    BREATH = 262144

cdef enum State:
    RUNNING_STATE, STOPPED_STATE, OVER_LIMIT_STATE, NO_MEMORY_STATE

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
    void *owned[16]             # what zeros has made
    int owns


cdef void *zeros(Worker *w, int64_t count, size_t width) noexcept nogil
cdef void breathe(Worker *w) noexcept nogil
cdef void sort(int32_t *values, int64_t length) noexcept nogil

cdef inline bint goes_on(Worker *w) noexcept nogil:
    if w.work >= BREATH:
        breathe(w)
    return fim_load_int(&w.shared.state) == 0


cdef class Pass:
    """Work by any number of threads that call `run`, under a limit."""

    cdef Shared shared
    cdef int64_t end            # of next_rank
    cdef object tick, failure
    cdef void _prepare(self, Worker *w) noexcept nogil
    cdef void _work(self, Worker *w) noexcept nogil
    cdef _collect(self, Worker *w)
    cdef void _free(self, Worker *w) noexcept
