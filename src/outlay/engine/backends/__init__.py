"""Where runs are played: threads, a cluster, a GPU. Each is imported when it is used."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Literal, cast, get_args

from outlay.engine.progress import Report
from outlay.engine.task import Task

Backend = Literal["threads", "dask", "ray", "cuda"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

Play = Callable[[Sequence[Task], int | None, Report], None]  # tasks, workers, and who is told how many runs are done

_WHERE: dict[Backend, tuple[str, str]] = {  # module and function
    "threads": ("backends.threads", "run"),
    "dask": ("backends.cluster", "run_on_dask"),
    "ray": ("backends.cluster", "run_on_ray"),
    "cuda": ("gpu.backend", "run"),
}


def backend_of(name: Backend) -> Play:
    """What plays tasks there.

    >>> backend_of("threads").__module__
    'outlay.engine.backends.threads'
    """
    module, function = _WHERE[name]
    return cast("Play", getattr(import_module(f"outlay.engine.{module}"), function))
