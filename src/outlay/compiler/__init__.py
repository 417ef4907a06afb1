"""From plain Python to machine code: parameters as typed tuples, what numba is told, what is cached."""
