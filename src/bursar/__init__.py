"""bursar spends a budget well."""

from bursar._version import __version__

__all__ = ["__version__"]
