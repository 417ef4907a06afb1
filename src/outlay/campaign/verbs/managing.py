"""The verbs that change arms and the course of a campaign, each with its form for asyncio."""

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.state import State
from outlay.campaign.settings import Amount
from outlay.campaign.stores.base import Store
from outlay.campaign.terms import arm_term
from outlay.campaign.verbs.steps import Steps, later, verb


class Managing:
    """A mix-in with the verbs for arms, for a pause and for the end."""

    _ledger: Store
    _state: State

    @verb
    def add_arm(self, name: str, max_cost: Amount | None = None, cost: float | None = None) -> Steps[None]:
        """Add another arm; `max_cost` is the most that a pull costs, `cost` what it costs on average, if known."""
        yield c.AddArm(arm_term(self._state.unit, "add_arm", name, max_cost, cost))

    @verb
    def disable_arm(self, name: str) -> Steps[None]:
        """Stop pulling an arm; pulls under way can still be told."""
        yield c.DisableArm(name)

    @verb
    def enable_arm(self, name: str) -> Steps[None]:
        """Pull a disabled arm again."""
        yield c.EnableArm(name)

    @verb
    def pause(self) -> Steps[None]:
        """Name no arm until `resume`; tells are still accepted."""
        yield c.Pause()

    @verb
    def resume(self) -> Steps[None]:
        """Name arms again."""
        yield c.Resume()

    @verb
    def close(self) -> Steps[None]:
        """End the campaign for good: `ask` returns None; pulls under way can still be told."""
        yield c.Close()

    @verb
    def archive(self) -> Steps[None]:
        """Put the campaign away: it is listed no more and names no arm; pulls under way can still be told."""
        yield c.Archive()

    @verb
    def restore(self) -> Steps[None]:
        """Bring back a campaign that was archived, as it was."""
        yield c.Restore()

    aadd_arm, adisable_arm, aenable_arm = later(add_arm), later(disable_arm), later(enable_arm)
    apause, aresume, aclose = later(pause), later(resume), later(close)
    aarchive, arestore = later(archive), later(restore)
