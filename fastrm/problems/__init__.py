"""World x machines -> Problem: the only builder of the arrays that the kernels read."""
