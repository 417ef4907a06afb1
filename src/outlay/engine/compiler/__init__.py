"""The loop as machine code: arms as tables, and what numba is told of both."""
