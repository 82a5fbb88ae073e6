"""Worlds as problems see them: numbered cells, moves, and what can be read of them."""

from fastrm.problems.terrain.base import ANYWHERE, METRICS, Metric, Start, Terrain
from fastrm.problems.terrain.grid import GridTerrain
from fastrm.problems.terrain.table import TableTerrain

__all__ = ["ANYWHERE", "METRICS", "GridTerrain", "Metric", "Start", "TableTerrain", "Terrain"]
