"""The contracts of policies, laws and stores, as tests that any suite can run: outlay's own does, and yours can.

    from outlay.testing import LawContract, PolicyContract, StoreContract

    class TestMine(PolicyContract):
        policy = Mine(alpha=2.0)

pytest finds the methods. Each fails with an AssertionError that says what was broken and where.
"""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.testing.laws import LawContract
    from outlay.testing.policies import PolicyContract
    from outlay.testing.stores import StoreContract

__all__ = ["LawContract", "PolicyContract", "StoreContract"]

__getattr__, __dir__ = lazily(
    __name__,  # a store's contract needs no compiler
    {
        "outlay.testing.laws": "LawContract",
        "outlay.testing.policies": "PolicyContract",
        "outlay.testing.stores": "StoreContract",
    },
)
