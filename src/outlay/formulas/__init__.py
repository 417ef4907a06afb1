"""The parts that policies share: limits, radii, evidence, and the rules by which scores become a choice."""
