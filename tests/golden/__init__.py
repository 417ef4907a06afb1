"""What outlay does, kept as text: a change of behaviour shows as a change of `data`.

`python -m tests.golden` writes it anew.
"""
