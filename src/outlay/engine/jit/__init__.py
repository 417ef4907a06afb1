"""Policies and laws as machine code: what numba is told, and what is kept."""
