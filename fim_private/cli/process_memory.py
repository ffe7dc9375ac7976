"""The process itself held to its memory, by the system: for what is decoded in one piece before it can be estimated."""

from __future__ import annotations

from pathlib import Path

# What a process takes beside the data: libraries, threads, what their allocators keep ready.
_BESIDE = 2 << 30
_STATUS = Path("/proc/self/status")


def hold_process(max_memory: str | None) -> str | None:
    """Have the system refuse this process more than twice its limit, and never more than the machine has.

    What is refused ends in MemoryError, of which the command line makes one line. Where the system knows no such limit
    nothing is done. Returns the limit as it was given. Raises ParameterError for what is no size.
    """
    from fim_private.reading.memory import MemoryLimit

    limit, machine = MemoryLimit.of(max_memory), MemoryLimit.of_whole_machine()
    try:
        import resource

        status = _STATUS.read_text(encoding="ascii", errors="replace")
        taken = 1024 * int(status.partition("VmData:")[2].split()[0])
    except (ImportError, OSError, ValueError, IndexError):  # not Linux, which alone counts what is allocated so
        return max_memory
    if limit.most is None or machine is None:
        return max_memory
    most = taken + min(2 * limit.most + _BESIDE, max(limit.most * 5 // 4, machine))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if all(most < other for other in (soft, hard) if other != resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return max_memory
