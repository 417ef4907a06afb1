"""What a log says of its arms: tallies, rates with intervals, tails, drift."""
