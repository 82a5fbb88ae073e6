"""The step and the loop of every learner: one file each."""
