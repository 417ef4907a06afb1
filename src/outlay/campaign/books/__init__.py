"""Ledgers as a whole: listed, verified, exported and imported."""
