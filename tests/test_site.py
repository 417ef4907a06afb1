"""The documentation site builds without a warning, asks no other host for anything, and its links lead somewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("material", "mkdocs", "mkdocstrings_handlers", "math_core")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs outlay[docs]: no {', '.join(MISSING)}")


class Html(HTMLParser):
    """Where a page's elements point to, and what can be pointed to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.assets: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name in ("action", "data", "href", "poster", "src", "srcset", "xlink:href"):
                (self.links if tag == "a" else self.assets).append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Html]:
    return {path: Html(path) for path in sorted(site.rglob("*.html"))}


def in_nav(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        assert isinstance(entry, list | dict)
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from in_nav(inner)


def test_every_page_of_the_nav_is_there(site: Path, pages: dict[Path, Html]):
    from mkdocs.config import load_config

    nav = list(in_nav(load_config(str(ROOT / "mkdocs.yml")).nav))
    shown = {name.replace("README.md", "index.md").replace(".md", ".html") for name in nav}
    assert shown | {"404.html"} == {path.relative_to(site).as_posix() for path in pages}
    assert len(nav) == len(set(nav)) > 40


def test_no_other_host_is_asked(site: Path, pages: dict[Path, Html]):
    assets = [asset for page in pages.values() for asset in page.assets]
    assets += [found for css in site.rglob("*.css") for found in re.findall(r"url\((.*?)\)|@import", css.read_text())]
    assert len(assets) > 100
    assert [asset for asset in assets if urlsplit(asset.strip("\"'")).netloc] == []


def test_links_lead_somewhere(site: Path, pages: dict[Path, Html]):
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links + page.assets:
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.relative_to(site)} links to {link}"
            if where.fragment and target in pages and not where.fragment.startswith("__"):
                assert unquote(where.fragment) in pages[target].ids, f"{path.relative_to(site)} links to {link}"


def test_public_names_are_in_the_reference(site: Path):
    for module, name in (("outlay", "simulate"), ("outlay.arms", "Gaussian"), ("outlay.policies", "Frugal")):
        text = (site / "reference" / f"{module}.html").read_text(encoding="utf-8")
        assert f'id="{module}.{name}"' in text
