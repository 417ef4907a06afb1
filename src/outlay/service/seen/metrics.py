"""What Prometheus reads: requests and their times as they happen, campaigns as they stand when it asks."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

from outlay.campaign.records import Status

TIMES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0)  # seconds
MOST_ARMS = 100  # of a campaign that are shown one by one
MONEY = ("budget", "spent", "reserved", "left", "reward", "pulls", "in_flight", "events")
BY_ARM = ("spent", "reserved", "reward", "pulls", "in_flight")
METHODS = frozenset(("GET", "POST", "DELETE", "HEAD"))


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ["method", "route", "status"]
        self._served = Counter("outlay_requests", "Requests answered.", names, registry=self._registry)
        self._took = Histogram(
            "outlay_request_seconds", "Time to answer.", ["route"], buckets=TIMES, registry=self._registry
        )
        self._found: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.active = 0  # requests under way
        self._active = Gauge("outlay_requests_active", "Requests under way.", registry=self._registry)
        self._queue = Gauge("outlay_queue_depth", "Commands that wait to be written.", registry=self._registry)
        self._streams = Gauge("outlay_streams", "Event streams that are open.", registry=self._registry)

    def served(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; what its sender made up is not taken for a name."""
        counters = self._found.get((method, route, status))
        if counters is None:  # to find them by their labels each time would take longer than to count
            known = method if method in METHODS else "other"
            counters = self._served.labels(known, route, str(status)), self._took.labels(route)
            self._found[method if known == method else "other", route, status] = counters
        counters[0].inc()
        counters[1].observe(seconds)

    def text(self, campaigns: Sequence[Status], queue: int, streams: int) -> bytes:
        """All of it, with the campaigns as they stand, and how much waits to be written."""
        self._active.set(self.active)
        self._queue.set(queue)
        self._streams.set(streams)
        return generate_latest(self._registry) + generate_latest(_Standing(campaigns))


class _Standing:
    """The campaigns, as numbers."""

    def __init__(self, campaigns: Sequence[Status]) -> None:
        self._campaigns = campaigns

    def collect(self) -> list[GaugeMetricFamily]:
        """Each number of each campaign, and of its first arms."""
        found = []
        for field in MONEY:
            family = GaugeMetricFamily(f"outlay_campaign_{field}", f"{field} of a campaign.", labels=["campaign"])
            for status in self._campaigns:
                family.add_metric([status.name], getattr(status, field))
            found.append(family)
        for field in BY_ARM:
            family = GaugeMetricFamily(f"outlay_arm_{field}", f"{field} of an arm.", labels=["campaign", "arm"])
            for status in self._campaigns:
                for arm in status.arms[:MOST_ARMS]:
                    family.add_metric([status.name, arm.name], getattr(arm, field))
            found.append(family)
        return found
