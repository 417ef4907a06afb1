"""Pages from templates: page.html.j2 has the look of every page, parts.html.j2 what they share. All text is escaped."""

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def rendered(package: str, template: str, **values: object) -> str:
    """The page that a template of `package` makes of the values; a template can build on those of `outlay.report`."""
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader("outlay.report", "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template).render(values)
