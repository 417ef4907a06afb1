"""The campaigns that the service has open: each is opened when it is first asked for, and stays open."""

import asyncio
import time
from typing import Any

from outlay.campaign import Campaign, campaigns
from outlay.campaign.ledger.validation import label
from outlay.campaign.records import Status
from outlay.errors import BadParameter, NoCampaign
from outlay.service import ServiceSettings
from outlay.service.views import WatchedCampaign


class OpenCampaigns:
    """One store and its campaigns; used in one event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.stopping = asyncio.Event()
        self.streams = 0  # that are open
        self.files = 0  # that are being made
        self._open: dict[str, Campaign] = {}
        self._opening = asyncio.Lock()
        self._watched: dict[str, WatchedCampaign] = {}
        self._looking = asyncio.Lock()
        self._seen: dict[bool, tuple[float, list[Status]]] = {}  # all campaigns, archived or not, and since when

    async def campaign(self, name: str) -> Campaign:
        """The campaign of this name; NoCampaign where there is none."""
        if name not in self._open:
            try:
                label("Campaign", "name", name)
            except BadParameter as error:  # what can be nobody's name is not there
                raise NoCampaign("no campaign can have this name") from error
            async with self._opening:  # once, however many ask for it at the same time
                if name not in self._open:
                    self._open[name] = await asyncio.to_thread(Campaign.open, self.settings.store, name)
        return self._open[name]

    async def new(self, terms: dict[str, Any]) -> tuple[Campaign, bool]:
        """Open a campaign on these terms, and say whether it is new; CampaignConflict where it has others."""
        name = terms["name"]
        new = False
        try:
            await self.campaign(name)
        except NoCampaign:
            new = True
        campaign = await asyncio.to_thread(lambda: Campaign(store=self.settings.store, **terms))
        if name in self._open:  # it was to be compared with what is there
            await campaign.adisconnect()
            return self._open[name], new
        self._open[name] = campaign
        return campaign, new

    def watched(self, campaign: Campaign) -> WatchedCampaign:
        """What there is to see of a campaign, kept from one look to the next."""
        if campaign.name not in self._watched:
            self._watched[campaign.name] = WatchedCampaign(campaign)
        return self._watched[campaign.name]

    async def all(self, archived: bool = False, age: float = 0.0) -> list[Status]:
        """How all campaigns of the store stand that were archived, or were not; or stood, so many seconds ago at most.

        Those who come while others look share the next look: however many they are, one reads at a time.
        """
        since = time.monotonic() - age
        async with self._looking:
            if archived not in self._seen or self._seen[archived][0] < since:
                began = time.monotonic()
                try:
                    found = await asyncio.to_thread(campaigns, self.settings.store, archived)
                except NoCampaign:
                    found = []
                self._seen[archived] = began, found
            return self._seen[archived][1]

    async def close(self) -> None:
        """Write what waits, and let all go."""
        self.stopping.set()
        while self._open:
            _, campaign = self._open.popitem()
            await campaign.adisconnect()
