"""Columns of runs, on disk and in memory. Knows no world, machine or plan."""
