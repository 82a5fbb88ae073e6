"""What result files say about the paper, the reference implementation, and beyond. Reads files, never trains."""
