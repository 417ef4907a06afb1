"""Pages that are not in docs/: the README and its like, the examples, a page for each module; and links to them."""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.append(str(Path(__file__).parent))
from notebooks import notebook_page  # type: ignore[import-not-found]  # noqa: E402 (hooks are run as files without a folder)

NOT_SHOWN = ("notebook.py",)  # it runs a notebook, which is shown
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.*") if path.suffix in (".py", ".ipynb"))
TABLES = "leaderboard.md"  # its tables take all the room that a screen has
WIDE = ("index.md", TABLES)  # pages that need the room of the navigation at their sides

# From the file in the repository to the page.
PAGES = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples/README.md",
    **{f"examples/{name}": f"examples/{Path(name).stem}.md" for name in EXAMPLES if name not in NOT_SHOWN},
}
FILES = {page: file for file, page in PAGES.items()}
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s#:]+)(#[^()\s]*)?\)")
REFERENCE = "reference/"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them; which modules have a page is said in the nav."""
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=page_of(ROOT / file)))
    for page in re.findall(rf"'({REFERENCE}[\w.]+)\.md'", str(config.nav)):
        module = page.removeprefix(REFERENCE)
        files.append(File.generated(config, f"{page}.md", content=f"# {module}\n\n::: {module}\n"))
    return files


def page_of(path: Path) -> str:
    """A page as it is, or a program or a notebook as a page."""
    if path.suffix == ".ipynb":
        return str(notebook_page(path))
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else f"# {path.name}\n\n```python\n{text}```\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links lead to pages, as they lead to files in the repository; a file that has no page is only named."""
    here = page.file.src_uri
    if here in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    wide = "\n\n<span data-wide></span>\n" if here == TABLES else ""
    return LINK.sub(lambda found: relinked(found, here), markdown) + wide


def relinked(found: re.Match[str], here: str) -> str:
    """The link as the site has it.

    >>> relinked(LINK.match("[decisions](docs/decisions/)"), "overview.md")
    '[decisions](decisions/README.md)'
    >>> relinked(LINK.match("[this file](../../docs/hooks/pages.py)"), "decisions/0001.md")
    'this file'
    """
    text, target, anchor = found.groups(default="")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(FILES.get(here, f"docs/{here}")), target))
    if (ROOT / path).is_dir():
        path += "/README.md"
    if path in PAGES:
        there = PAGES[path]
    elif path.startswith("docs/") and not path.endswith(".py"):
        there = path.removeprefix("docs/")
    else:
        return text if (ROOT / path).exists() else found.group()
    return f"[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor})"
