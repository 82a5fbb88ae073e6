"""Where the agent moves: text or a recipe becomes a map. Knows nothing of rewards."""
