"""Packages that not every user installs: where one is missing, one sentence says what to install.

`pip install outlay` is enough for campaigns, laws, policies and the command `outlay campaign`. What simulates needs the
extra `simulate`; what draws figures and writes pages needs `report`, which includes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from outlay.errors import MissingExtra

EXTRA_OF = {
    "numba": "simulate",
    "pandas": "simulate",
    "pyarrow": "simulate",
    "scipy": "simulate",
    "jinja2": "report",
    "matplotlib": "report",
    "httptools": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "httpx2": "client",
}


@contextmanager
def needed(owner: str) -> Iterator[None]:
    """Around an import, or on a function that imports: a package of an extra that is missing becomes MissingExtra.

    >>> with needed("simulate"):
    ...     raise ModuleNotFoundError(name="numba.core")
    Traceback (most recent call last):
    outlay.errors.MissingExtra: simulate needs numba: pip install 'outlay[simulate]'
    """
    try:
        yield
    except MissingExtra as inner:  # the user called `owner`, and has not heard of what that called
        raise MissingExtra(owner, inner.package, inner.extra) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA_OF:
            raise
        raise MissingExtra(owner, package, EXTRA_OF[package]) from None


def require(owner: str, *packages: str) -> None:
    """Refuse at once, before hours of work whose last step would fail.

    >>> require("compare", "matplotlib", "jinja2")
    """
    with needed(owner):
        for package in packages:
            import_module(package)
