"""Measurements: how fast the engine is, and how good the policies are."""
