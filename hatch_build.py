"""The README as package indexes show it: they have no other file of the repository, so relative links are left out."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"^[^\n]*\n\n!\[[^\]]*\]\((?!https://)[^)]*\)\n\n", re.M)  # with the line that leads to it
_LINK = re.compile(r"\[([^\]]*)\]\((?!https://)[^)]*\)")


def without_relative_links(text: str) -> str:
    """The text with images of the repository gone, and links into it as plain text.

    >>> without_relative_links("[Tutorial](docs/tutorial.md), [Python](https://python.org)")
    'Tutorial, [Python](https://python.org)'
    """
    return _LINK.sub(r"\1", _IMAGE.sub("", text))


class ReadmeHook(MetadataHookInterface):
    """Sets `readme` when the package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the text into the project's metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(text)}
