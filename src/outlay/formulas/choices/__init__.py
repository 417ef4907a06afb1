"""From scores to an arm: the largest score and its ties, and the same choice without comparing every arm."""
