"""Where batches of runs are executed."""
