"""Machines from traces: merging states, telling two machines apart, and planning by a machine that may be wrong."""
