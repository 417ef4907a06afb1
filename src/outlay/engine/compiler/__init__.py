"""From plain Python to machine code: parameters as typed tuples, arms as tables, what numba is told, what is cached."""
