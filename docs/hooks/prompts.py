"""Blocks with prompts as sessions of Python, of which neither a prompt nor an answer is copied: see site.css."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

SESSION = re.compile(r"^```python(?=\n>>> )", re.M)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Mark the sessions of a page."""
    return marked(markdown)


def marked(markdown: str) -> str:
    r"""Call a session what GitHub and the tests know as Python.

    >>> marked("```python\n>>> 1 + 1\n2\n```\n\n```python\nx = 1\n```")
    '```pycon\n>>> 1 + 1\n2\n```\n\n```python\nx = 1\n```'
    """
    return SESSION.sub("```pycon", markdown)
