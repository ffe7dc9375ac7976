"""The command line: the only place that prints, exits and offers a seed.

commands        The commands, and what becomes of their errors.
inspect         `fim-private inspect`.
mine            `fim-private mine`.
count           `fim-private count`.
vote            `fim-private vote`.
show            `fim-private show`.
report          `fim-private report`.
budget          `fim-private budget create` and `budget show`.
plan            `fim-private plan`.
audit           `fim-private audit`.
release_options The options that mine and count share.
rule_options    The options of association rules.
source_options  How a file is read, for all commands that read one.
segment_options What is left out, and the segments of mine.
catalogue_options  The public list of items of mine.
engine_options  What reads and counts, for both.
destination     Where output goes, the screen or a file.
release_output  How a release is written, and what --format takes.
command         What all commands have: --config, --quiet, the environment, help for any screen.
given           How a parameter got its value: typed, from the environment, a file or by default.
options_file    A file of options, which --config names.
completion      Completion of what is typed, in shells.
mechanism_help  What help texts say of mechanisms.
narrow_help     Help for narrow screens.
retyped         The command that was typed, with some options changed.
notes           What is said beside the output, and --quiet.
progress        A progress bar, on terminals only.
signals         What ends a command from outside.
typed_numbers   Numbers as they are typed.
process_memory  The process held to its memory by the system.
"""

from __future__ import annotations

import sys

# Nothing more is imported here: whoever presses Ctrl-C at once must not be shown what was being imported.


def main() -> None:
    """Run the command line and exit; every expected failure is one line on standard error and an exit code."""
    try:
        from fim_private.cli.signals import end_on_signals

        end_on_signals()
        from fim_private.cli.commands import run

        code = run()
    except KeyboardInterrupt:
        code = 130  # 128 and the number of the signal
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        sys.stderr.write("Error: memory ran out, and nothing was written; free some, or ask for less\n")
        code = 2
    sys.exit(code)
