"""A budget and a number of requests: what they can bring, what falls short of it, and why (docs/requests.md)."""

from outlay.theory.requests.hull import Fluid, fluid, request_gaps
from outlay.theory.requests.identity import FluidRegret, fluid_regret
from outlay.theory.requests.losses import fluid_loss

__all__ = ["Fluid", "FluidRegret", "fluid", "fluid_loss", "fluid_regret", "request_gaps"]
