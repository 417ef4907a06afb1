"""How far each arm is from a better one: D* = min KL(P ‖ Q) over the laws Q of its model with rate ≥ r (Theorem 3)."""

from outlay.theory.divergences.families import exponential_family
from outlay.theory.divergences.known_support import Edge, Points, kl_inf
from outlay.theory.divergences.models import Model, divergence, model_of, models

__all__ = ["Edge", "Model", "Points", "divergence", "exponential_family", "kl_inf", "model_of", "models"]
