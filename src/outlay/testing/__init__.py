"""What policies must keep to, as tests that any suite can run: outlay's own do, and yours can.

    from outlay.testing import PolicyContract

    class TestMine(PolicyContract):
        policy = Mine(alpha=2.0)

pytest finds the methods. Each fails with an AssertionError that says what was broken and where.
"""

from outlay.testing.policies import PolicyContract

__all__ = ["PolicyContract"]
