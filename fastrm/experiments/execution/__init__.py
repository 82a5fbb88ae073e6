"""Getting runs done: batches, the ways to compute them in parallel, and saving each as it arrives."""
