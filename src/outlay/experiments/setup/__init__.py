"""What to play: the experiment file, its policies, its sweeps, and the points and cells they come to."""
