"""Formulas between dollar signs as MathML, which browsers draw themselves: no script, and a font of the site's own."""

import html
import re
from collections.abc import Iterable

from math_core import LatexToMathML
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

# What pymdownx.arithmatex leaves of $…$ and $$…$$; in the table of contents only the inner part is left of it.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)
INNER = re.compile(r"\\\((.*?)\\\)")
TAG = re.compile(r"<[^>]*>")
LONG = 30  # signs: more do not fit a line of a phone
CONVERTER = LatexToMathML()


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Typeset the page and its table of contents; a formula with an error ends the build."""
    typeset_titles(page.toc)
    return FORMULA.sub(typeset, html)


def typeset(found: re.Match[str]) -> str:
    """One formula of a page."""
    element, latex = found.groups()
    drawn = mathml(latex, display=element == "div")
    kind = "formula long" if element == "span" and len(html.unescape(TAG.sub("", drawn))) > LONG else "formula"
    return f'<{element} class="{kind}">{drawn}</{element}>'


def typeset_titles(links: Iterable[AnchorLink]) -> None:
    """The formulas in headings."""
    for link in links:
        link.title = INNER.sub(lambda found: mathml(found.group(1), display=False), link.title)
        typeset_titles(link.children)


def mathml(latex: str, display: bool) -> str:
    r"""LaTeX, escaped for HTML, as MathML.

    >>> mathml(r"x &gt; \frac12", display=False)
    '<math><mi>x</mi><mo>&gt;</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>'
    """
    return CONVERTER.convert_with_local_state(html.unescape(latex).strip(), displaystyle=display)
