"""Random calls, commands and files: each must end in success or in one line, quickly and in little memory.

    python tests/fuzz.py --seconds 3600 --seed 1 --jobs 2

Three parts take turns: ``api`` calls public functions with odd values and mutated texts, ``commands`` gives the shell
door random arguments and mutated files, ``files`` edits result files inside and seals them again. A case is a part and
a number, so every failure can be repeated with ``--part files --case 17``. Cases run in a child process: a crash, ten
seconds or a gigabyte more than at the start are failures like a traceback.
"""

import argparse
import collections
import contextlib
import io
import itertools
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "helpers")]

PARTS = ("api", "commands", "files")
MOST_SECONDS, MOST_BYTES, WARM_UP_SECONDS = 10.0, 1 << 30, 300.0


class Bad(Exception):
    """A case ended in a way that it must not."""


def run_case(part, number, folder):
    """Run one case in this process; raise `Bad` where it ends badly."""
    from fastrm import FastrmError

    import fuzz_cases

    case = getattr(fuzz_cases, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case(Random(f"{part} {number}"), folder)
        except FastrmError as problem:
            is_path = str(problem).startswith(fuzz_cases.LONG[:99])  # paths are quoted whole
            if "\n" in str(problem) or (len(str(problem)) > 2000 and not is_path):
                raise Bad(f"a long message: {str(problem)[:300]!r}") from None
        except Bad:
            raise
        except Exception as problem:
            trace = traceback.extract_tb(problem.__traceback__)
            frames = [f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in trace]
            raise Bad("\n".join([*frames[-8:], *traceback.format_exception_only(problem)])[:1500]) from None


def serve(folder):
    """Be a child: read parts and numbers of cases, answer each with a line."""
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), io.StringIO()
    for part in PARTS:  # imports and compiled kernels do not count
        with contextlib.suppress(Bad):
            run_case(part, 0, folder)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        part, number = line.split()
        try:
            run_case(part, int(number), folder)
            print("fine", file=answers, flush=True)
        except Bad as problem:
            print(f"bad {problem!s}".encode("unicode_escape").decode(), file=answers, flush=True)


class Child:
    """A process that runs cases, watched from outside and replaced when it fails."""

    def __init__(self):
        self.process = None

    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fastrm-fuzz-")
        words = [sys.executable, __file__, "--serve", self.folder.name]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder.name
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        if problem := self._wait(WARM_UP_SECONDS, None):
            raise SystemExit(f"fuzz: the child does not start: {problem}")
        self.before = self.resident()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.selector.close()
            self.folder.cleanup()
            self.process = None

    def resident(self):
        """Return the memory of the child in bytes, 0 where the system does not tell."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def _wait(self, seconds, before):
        """Wait for an answer; return what is wrong, or nothing."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.selector.select(timeout=0.05):
                line = self.process.stdout.readline().decode()
                if not line:
                    return f"the process died with code {self.process.wait()}"
                return line[4:].strip() if line.startswith("bad") else ""
            if before is not None and self.resident() > before + MOST_BYTES:
                return f"more than {MOST_BYTES >> 20} MiB of memory"
        return f"longer than {seconds:.0f} s"

    def run(self, part, number):
        """Run a case; return what is wrong, or nothing."""
        if self.process is None:
            self.start()
        self.process.stdin.write(f"{part} {number}\n".encode())
        self.process.stdin.flush()
        problem = self._wait(MOST_SECONDS, self.before)
        if problem.startswith(("the process", "more than", "longer than")):
            self.stop()
        return problem


def fuzz(cases, seconds=float("inf"), jobs=1, report=print):
    """Run cases, an iterator of (part, number), until it or the time ends; return counts and failures."""
    counts, failures, lock, end = collections.Counter(), [], threading.Lock(), time.monotonic() + seconds

    def work():
        child = Child()
        try:
            while time.monotonic() < end:
                with lock:
                    case = next(cases, None)
                if case is None:
                    return
                problem = child.run(*case)
                with lock:
                    counts[case[0]] += 1
                    if problem:
                        failures.append((*case, problem))
                        text = problem.encode().decode("unicode_escape", "replace")
                        report(f"FAILED --part {case[0]} --case {case[1]}\n{text}\n")
        finally:
            child.stop()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, failures


def numbered(parts, seed, most=None):
    """Yield cases of some parts in turn, each part `most` times or without end; those of different seeds differ."""
    for k in itertools.count() if most is None else range(most):
        for part in parts:
            yield part, seed * 10**9 + k


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--case", type=int, help="repeat one case of a part, here and with its traceback")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.serve is not None:
        serve(arguments.serve)
        return 0
    parts = tuple(arguments.part or PARTS)
    if arguments.case is not None:
        cases = iter([(part, arguments.case) for part in parts])
    else:
        cases = numbered(parts, arguments.seed)
    counts, failures = fuzz(cases, arguments.seconds, arguments.jobs)
    for part in parts:
        failed = sum(one == part for one, _, _ in failures)
        print(f"{part}: {counts[part]} cases, {failed} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
