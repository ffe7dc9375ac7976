"""Bytes to every reader, changed with an eye on which of our lines run (atheris, libFuzzer): make
fuzz-bytes.

A target runs in a process of its own, which a fault ends: an exception that is none of ours, a
crash of native code, more than 20 seconds, or a gigabyte more memory than before. The input is
kept, and the next turn goes on.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(_TESTS.parent), str(_TESTS), str(_TESTS / "fuzz")]

SECONDS, MEGABYTES = 20, 1_000


def main() -> int:
    """Run all targets for a while, in turns, or one of them; tell how many inputs each had, and
    which faults.
    """
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("targets", nargs="*", help="which of them; all unless given")
    options.add_argument("--seconds", type=int, default=3600, help="for all targets together")
    options.add_argument(
        "--turn", type=int, default=60, help="seconds of a target, before the next has its turn"
    )
    options.add_argument(
        "--folder", type=Path, help="where inputs and faults are kept; else they go at the end"
    )
    asked = options.parse_args()
    from byte_targets import TARGETS

    names = asked.targets or [*TARGETS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        end = time.monotonic() + asked.seconds
        inputs = dict.fromkeys(names, 0)
        faults = dict.fromkeys(names, 0)
        turn = 0
        while (left := end - time.monotonic()) > 2:
            name = names[turn % len(names)]
            turn += 1
            ran, failed = _turn(name, folder, min(asked.turn, int(left)))
            inputs[name] += ran
            faults[name] += failed
            print(f"{name}: {inputs[name]:,} inputs, {faults[name]} faults", flush=True)
    print(f"{sum(inputs.values()):,} inputs in all, {sum(faults.values())} faults")
    return 1 if any(faults.values()) else 0


def _turn(name: str, folder: Path, seconds: int) -> tuple[int, int]:
    """Run one target for so many seconds. Returns how many inputs it had, and whether one was a
    fault.
    """
    corpus = folder / "corpus" / name
    if not corpus.is_dir():
        from byte_targets import TARGETS

        corpus.mkdir(parents=True)
        for number, seed in enumerate(TARGETS[name]().seeds):
            (corpus / f"seed-{number:03}").write_bytes(seed)
    found = folder / "faults"
    found.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--one", name, str(corpus)]
    limits = [
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={3 * MEGABYTES}",
        "-max_len=16384",
    ]
    with tempfile.TemporaryDirectory() as state:
        done = subprocess.run(
            [
                *command,
                *limits,
                f"-artifact_prefix={found}/{name}-",
                "-print_final_stats=1",
                "-verbosity=1",
            ],
            env={**os.environ, "XDG_STATE_HOME": state},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    said = done.stdout.decode("utf-8", "replace")
    counts = [int(number) for number in re.findall(r"^#(\d+)", said, re.MULTILINE)]
    counts += [int(number) for number in re.findall(r"number_of_executed_units: *(\d+)", said)]
    if done.returncode:
        (found / f"{name}-{time.time_ns()}.log").write_text(said[-20_000:], encoding="utf-8")
        print(f"--- {name} ended with {done.returncode}:\n{said[-3_000:]}", flush=True)
    return max(counts, default=0), int(done.returncode != 0)


def one(name: str, arguments: list[str]) -> None:
    """Run one target, in this process, as libFuzzer's arguments say."""
    import atheris

    with atheris.instrument_imports(include=["fim_private"]):
        import byte_targets

        import fim_private.mining  # noqa: F401
    from fuzz_limits import check_message, peak_megabytes

    from fim_private.errors import FimPrivateError

    warnings.simplefilter("ignore")
    target = byte_targets.TARGETS[name]().try_

    def attempt(given: bytes) -> None:
        before = peak_megabytes()
        try:
            target(given)
        except FimPrivateError as error:
            check_message(error)
        assert peak_megabytes() - before < MEGABYTES, "it took a gigabyte"

    atheris.Setup([sys.argv[0], *arguments], attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
