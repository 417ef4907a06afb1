"""The campaigns that the service has open: each is opened on first use and stays open."""

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
    """The campaigns of one store, for one event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.stopping = asyncio.Event()
        self.active = 0  # requests that are worked on; those without a key do not count
        self.streams = 0  # now open
        self.files = 0  # being written for export
        self._open: dict[str, Campaign] = {}
        self._opening = asyncio.Lock()
        self._watched: dict[str, WatchedCampaign] = {}
        self._looking = asyncio.Lock()
        self._seen: dict[bool, tuple[float, list[Status]]] = {}  # by whether archived: when it was read, and what

    async def campaign(self, name: str) -> Campaign:
        """The campaign of this name; NoCampaign if there is none."""
        if name not in self._open:
            try:
                label("Campaign", "name", name)
            except BadParameter as error:  # a name that no campaign can have
                raise NoCampaign("no campaign can have this name") from error
            async with self._opening:  # only once, however many requests wait for it
                if name not in self._open:
                    self._open[name] = await asyncio.to_thread(Campaign.open, self.settings.store, name)
        return self._open[name]

    async def new(self, terms: dict[str, Any]) -> tuple[Campaign, bool]:
        """Open a campaign on these terms, and say whether it is new; CampaignConflict if it has other terms."""
        name = terms["name"]
        new = False
        try:
            await self.campaign(name)
        except NoCampaign:
            new = True
        campaign = await asyncio.to_thread(lambda: Campaign(store=self.settings.store, **terms))
        if name in self._open:  # it was opened only to compare its terms
            await campaign.adisconnect()
            return self._open[name], new
        self._open[name] = campaign
        return campaign, new

    def watched(self, campaign: Campaign) -> WatchedCampaign:
        """What the dashboard knows about a campaign, kept between requests."""
        if campaign.name not in self._watched:
            self._watched[campaign.name] = WatchedCampaign(campaign)
        return self._watched[campaign.name]

    async def all(self, archived: bool = False, age: float = 0.0) -> list[Status]:
        """The status of all archived campaigns, or of all others, at most so many seconds old.

        Requests that wait share one read: only one reads at a time.
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
        """Finish what is queued, and close all campaigns."""
        self.stopping.set()
        while self._open:
            _, campaign = self._open.popitem()
            await campaign.adisconnect()
