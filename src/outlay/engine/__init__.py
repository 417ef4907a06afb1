"""The simulator: policies on problems at machine speed."""
