"""Columns of runs, on disk and in memory. Knows no world, machine or plan."""

from fastrm.results.dataset import Results, load
from fastrm.results.disk import Disk
from fastrm.results.export import to_csv, to_latex
from fastrm.results.intervals import (
    Interval,
    by_map,
    interval_of,
    interval_of_gap,
    interval_of_mean,
    interval_of_share,
)
from fastrm.results.provenance import describe_machine, git_commit
from fastrm.results.schema import MAX_BYTES, MAX_ERROR, Frame, Runs, bytes_of_file, empty_frame, fill_in
from fastrm.results.stats import (
    area,
    band,
    censored_percentile,
    holm,
    permutation_p,
)
from fastrm.results.store import Store, merge_files
from fastrm.results.summaries import SUMMARY, Paired

__all__ = [
    "MAX_BYTES", "MAX_ERROR", "SUMMARY", "Disk", "Frame", "Interval", "Paired", "Results", "Runs", "Store", "area",
    "band", "by_map", "bytes_of_file", "censored_percentile", "describe_machine", "empty_frame", "fill_in",
    "git_commit", "holm", "interval_of", "interval_of_gap", "interval_of_mean", "interval_of_share", "load",
    "merge_files", "permutation_p", "to_csv", "to_latex",
]  # fmt: skip
