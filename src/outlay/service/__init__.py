"""Campaigns over HTTP: `outlay serve`. A skin over `Campaign`: see who asks, call one verb, answer in JSON."""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.service.front.app import application
    from outlay.service.front.server import serve
    from outlay.service.openapi import document
    from outlay.service.settings import Settings

__all__ = ["Settings", "application", "document", "serve"]

__getattr__, __dir__ = lazily(
    __name__,  # the command line reads the settings without a web framework
    {
        "outlay.service.front.app": "application",
        "outlay.service.openapi": "document",
        "outlay.service.front.server": "serve",
        "outlay.service.settings": "Settings",
    },
)
