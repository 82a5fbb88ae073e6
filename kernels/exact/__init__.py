"""Searches and sweeps behind the exact answers."""
