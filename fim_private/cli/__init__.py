"""The command line: the only place that prints and exits.

parsing         Commands made of declared options, which may also stand in a file or in the
                environment.
writing         Where output goes, the screen or a file, and in which form; and what is shown beside
                it.
commands        The application: its commands, what each asks the library and writes, and what
                becomes of errors.
"""

import sys

# Nothing more is imported here: after Ctrl-C in the first moment there must be no traceback of an
# import.


def main() -> None:
    """Run the command line and exit; every expected failure is one line on standard error and an
    exit code.
    """
    try:
        import signal

        # Ctrl-C is Python's own affair. A signal that is ignored, as after nohup, stays ignored.
        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)  # not every system has each
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, frame: sys.exit(128 + number))
        from fim_private.cli.commands import run

        code = run()
    except KeyboardInterrupt:
        code = 130  # 128 and the number of the signal
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        sys.stderr.write(
            "Error: memory ran out, and nothing was written; free some, or ask for less\n"
        )
        code = 2
    sys.exit(code)
