"""Which runs, and getting them done: experiments, plans, batches, and the ways to run them in parallel."""
