"""Pages from templates: page.html.j2 is the look of them all, parts.html.j2 what they share; every name is escaped."""

from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def rendered(package: str, template: str, **values: Any) -> str:
    """The page that a template of `package` makes of the values; it may extend and import those of `outlay.report`."""
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader("outlay.report", "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template).render(values)
