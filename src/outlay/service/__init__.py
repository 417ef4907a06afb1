"""Campaigns over HTTP: `outlay serve`. A skin over `Campaign`: see who asks, call one verb, answer in JSON."""

from typing import TYPE_CHECKING

from outlay.lazily import lazily

if TYPE_CHECKING:
    from outlay.service.app import application
    from outlay.service.openapi import document
    from outlay.service.server import serve
    from outlay.service.settings import Settings

__all__ = ["Settings", "application", "document", "serve"]

__getattr__, __dir__ = lazily(
    __name__,  # the command line reads the settings without a web framework
    {
        "outlay.service.app": "application",
        "outlay.service.openapi": "document",
        "outlay.service.server": "serve",
        "outlay.service.settings": "Settings",
    },
)
