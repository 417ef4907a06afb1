"""The parts that policies share: limits, radii, evidence; choices from scores; money and requests in one currency."""
