"""Many environments stepped at once, and the moves of Water world."""
