"""Columns of runs, on disk and in memory. Knows no world, machine or plan."""

from fastrm.results.dataset import Results, load, to_csv, to_latex, write_runs
from fastrm.results.overall import LogRank, Profile, Survival, kaplan_meier, optimality_gap, performance_profile
from fastrm.results.schema import (
    MAX_BYTES,
    MAX_ERROR,
    PER_TICK,
    Frame,
    Runs,
    area,
    bytes_of_run,
    check_fits,
    empty_frame,
    fill_in,
)
from fastrm.results.stats import (
    SUMMARY,
    Estimate,
    Interval,
    Paired,
    band,
    by_map,
    censored_percentile,
    holm,
    interval_of,
    interval_of_gap,
    interval_of_mean,
    interval_of_share,
    iqm,
    maps_of,
    mean_over_maps,
    methods_without,
    over_maps,
    permutation_p,
    share_over_maps,
)
from fastrm.results.store import Disk, Store, describe_machine, git_commit, merge_files, runs_of_shard, write_frame

__all__ = [
    "MAX_BYTES", "MAX_ERROR", "PER_TICK", "SUMMARY", "Disk", "Estimate", "Frame", "Interval", "LogRank", "Paired",
    "Profile", "Results", "Runs", "Store", "Survival", "area", "band", "by_map", "bytes_of_run", "censored_percentile",
    "check_fits", "describe_machine", "empty_frame", "fill_in", "git_commit", "holm", "interval_of", "interval_of_gap",
    "interval_of_mean", "interval_of_share", "iqm", "kaplan_meier", "load", "maps_of", "mean_over_maps", "merge_files",
    "methods_without", "optimality_gap", "over_maps", "performance_profile", "permutation_p", "runs_of_shard",
    "share_over_maps", "to_csv", "to_latex", "write_frame", "write_runs",
]  # fmt: skip
