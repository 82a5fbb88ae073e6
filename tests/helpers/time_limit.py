"""A generous limit for work that must not hang."""

import contextlib
import signal


@contextlib.contextmanager
def does_not_hang(seconds=20):
    """Fail if the block, in the main thread, takes longer; far above what it needs."""

    def stop(*_):
        raise AssertionError(f"still at work after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
