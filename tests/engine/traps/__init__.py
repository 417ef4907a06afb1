"""The ways in which compiled code can be stale or wrong, each tried.

Numba tells NamedTuples apart by name, freezes what a method reads, and keeps machine code on disk. Each test here
is one way in which that could run code other than what the user wrote.
"""
