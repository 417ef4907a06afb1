"""What can be called, by what it is about; `ROUTES` is all of it, in the order in which paths are tried."""

from outlay.service.routes import arms, asking, campaigns, events, pulls, system, views
from outlay.service.table import Route

# The daily verbs first: a path is compared with those before it.
ROUTES: tuple[Route, ...] = tuple(
    route for part in (asking, campaigns, arms, pulls, events, views, system) for route in part.table.routes
)
