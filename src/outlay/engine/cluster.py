"""Chunks of runs on a cluster, through joblib: worker processes on this machine or on many.

A chunk is some runs of one task. It travels as bytes, is played by the threads backend on one thread of a worker, and
what comes back is put where it belongs. Run i draws from its own stream wherever it is played, so results are the same
bit for bit as on threads, whatever the chunks are and however often one is played again because its worker died.

A user's mistake comes back as the exception that threads would have raised. Compiling here first, before anything is
sent, tells most mistakes at once, warns at the caller of what will run interpreted, and leaves the machine code on disk
for workers that share the folder.
"""

import logging
import os
import pickle
import platform
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib import import_module
from typing import Any, NamedTuple

from outlay import __version__
from outlay.engine import threads
from outlay.engine.choose_arm import Floats
from outlay.engine.jit.compile import program_of
from outlay.engine.limits import Counts
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.errors import OutlayError
from outlay.progress import Report

_CHUNKS = 4  # of a task, for each slot: enough to balance, and to lose little with a worker
_FEWEST_PULLS, _MOST_PULLS = 2e5, 5e7  # of a chunk, unless one run makes more: hundredths of a second to some seconds
_DEATHS = 3  # of workers that one chunk may survive: dask's own default, and what we ask of ray
_WAIT_SECONDS = 60  # for the first worker of a cluster


class Cluster(NamedTuple):
    """Where chunks go."""

    backend: Any  # joblib's
    slots: int  # chunks played at a time
    ahead: int  # chunks sent before the first one is back
    lost: tuple[type[BaseException], ...]  # what is raised where the cluster, not the chunk, has failed


def connected(backend: str) -> bool:
    """Whether this process is connected to a cluster of this kind, so that none would have to be started."""
    try:
        if backend == "ray":
            return bool(import_module("ray").is_initialized())
        import_module("distributed").get_client()
    except (ModuleNotFoundError, ValueError):  # not installed here, no client
        return False
    return True


def run(backend: str, tasks: Sequence[Task], workers: int | None, report: Report) -> None:
    """Do every task on a cluster, "dask" or "ray"; `report` is told, now and then, how many runs are done.

    The cluster is the one that this process is connected to, else one of worker processes on this machine, made for the
    call. `workers` is how many chunks are played at a time; None means all slots of the cluster, or every core.
    """
    package, connect = ("distributed", _dask) if backend == "dask" else ("ray", _ray)
    try:
        import_module("joblib")
        import_module(package)
    except ModuleNotFoundError:
        raise OutlayError(f"backend={backend!r} needs `pip install 'outlay[{backend}]'`") from None
    for task in {task.label: task for task in tasks}.values():
        program_of(task)
    with connect(workers) as cluster:
        try:
            _play(tasks, cluster, report)
        except OutlayError as error:
            raise error from None  # its one sentence is enough: joblib adds the worker's traceback as the cause
        except cluster.lost as error:
            where = f"the {backend} cluster gave up a chunk of runs ({type(error).__name__})"
            raise OutlayError(f"{where}: see its logs; a worker with too little memory dies like this") from error


def parts_of(tasks: Sequence[Task], slots: int) -> list[tuple[int, Task]]:
    """The runs of all tasks cut into chunks that last neither too long nor too short, with the index of their task.

    Every policy's first runs come first, as on threads: an interrupted simulation has some runs of each.
    """
    parts = []
    for index, task in enumerate(tasks):
        wanted = min(max(task.runs * task.pulls / (_CHUNKS * slots), _FEWEST_PULLS), _MOST_PULLS)
        size = max(1, int(wanted / task.pulls))
        parts += [(index, task.part(first, min(first + size, task.runs))) for first in range(0, task.runs, size)]
    return sorted(parts, key=lambda part: part[1].first)


def play_chunk(index: int, work: bytes, first: int, runs: int) -> tuple[int, tuple[Floats | Counts, ...]]:
    """In a worker: play these runs and return their crossings, with the index of the chunk."""
    sent, packed = pickle.loads(work)  # noqa: S301 (from the caller, who runs code here anyway)
    for name, here in versions().items():
        if sent[name] != here:
            differ = f"a worker has {name} {here} where the caller has {sent[name]}"
            raise OutlayError(f"{differ}: install the same version, so that results are the same bit for bit")
    try:
        problem, label, policy, budgets, seed, max_pulls, requests, hard = pickle.loads(packed)  # noqa: S301
    except (ImportError, AttributeError) as error:
        where = "install that module on the workers, or define its classes in your script"
        raise OutlayError(f"a worker cannot load a class of yours ({error}): {where}") from None
    crossings = Crossings.blank(runs, len(budgets), len(problem))
    # The caller has been warned of what is interpreted; here it would be once per chunk.
    task = Task(problem, label, policy, budgets, seed, max_pulls, crossings, first, False, requests, hard)
    threads.run([task], 1, lambda _: None)
    return index, tuple(crossings)


def _play(tasks: Sequence[Task], cluster: Cluster, report: Report) -> None:
    import joblib

    works = list(map(packed, tasks))
    parts = parts_of(tasks, cluster.slots)
    chunks = [chunk for _, chunk in parts]
    calls = [
        joblib.delayed(play_chunk)(index, works[task], chunk.first, chunk.runs)
        for index, (task, chunk) in enumerate(parts)
    ]
    done = 0
    with joblib.parallel_config(cluster.backend):
        parallel = joblib.Parallel(cluster.slots, return_as="generator_unordered", pre_dispatch=cluster.ahead)
        with closing(parallel(calls)) as played:
            for index, crossings in played:
                chunks[index].crossings.fill(Crossings(*crossings))
                done += chunks[index].runs
                report(done)


def packed(task: Task) -> bytes:
    """What all chunks of a task share, with classes of a notebook or script inside.

    As bytes, since dask would look into tuples, and would keep an array on one worker only, to be lost with it.
    """
    import cloudpickle

    limits = task.budgets, task.seed, task.max_pulls, task.requests, task.hard
    parts = (task.problem, task.label, task.policy, *limits)
    try:
        packed = cloudpickle.dumps(parts)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise OutlayError(f"{task.label} or the problem cannot be sent to a worker: {error}") from None
    return pickle.dumps((versions(), packed))


def versions() -> dict[str, str]:
    """What must be the same on a worker for the same bits to come back."""
    modules = {name: str(import_module(name).__version__) for name in ("numpy", "numba")}
    return {"outlay": __version__, "Python": ".".join(platform.python_version_tuple()[:2]), **modules}


@contextmanager
def _dask(workers: int | None) -> Iterator[Cluster]:
    """The current client's cluster, or one worker process per core on this machine for as long as this lasts."""
    import distributed
    from joblib._dask import DaskDistributedBackend

    class DaskPassingErrors(DaskDistributedBackend):  # type: ignore[misc]
        """Joblib's, which would wait for ever for a chunk that dask has given up: it does not pass the error on."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
            return future

    with ExitStack() as opened:
        try:
            client = distributed.get_client()
        except ValueError:  # there is none
            client = opened.enter_context(_local_dask(workers))
        backend = DaskPassingErrors(client=client, wait_for_workers_timeout=_WAIT_SECONDS)
        try:
            slots = backend.effective_n_jobs(-1)
        except TimeoutError:
            raise OutlayError(f"the dask cluster has had no workers for {_WAIT_SECONDS} seconds: start some") from None
        mine = slots if workers is None else min(workers, slots)
        lost = (distributed.KilledWorker, distributed.CancelledError, distributed.comm.CommClosedError)
        try:
            yield Cluster(backend, mine, mine if workers else 2 * slots, lost)
        finally:  # after an error or Ctrl-C, chunks that wait must not keep the cluster from what comes next
            with suppress(OSError, TimeoutError):
                client.cancel(tuple(backend._results))


@contextmanager
def _local_dask(workers: int | None) -> Iterator[Any]:
    import distributed

    count = workers or os.cpu_count() or 1
    try:  # a port for its status page that is free
        cluster = distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
    except RuntimeError as error:
        guard = 'a script must call simulate under `if __name__ == "__main__":`, since workers import it too'
        raise OutlayError(f"dask's workers did not start ({error}): {guard}") from None
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def _ray(workers: int | None) -> Iterator[Cluster]:
    """The Ray cluster that this process has joined, or one on this machine for as long as this lasts."""
    import ray
    from ray.util.joblib.ray_backend import RayBackend

    class StreamingRay(RayBackend):  # type: ignore[misc]
        """Ray's, with results as they come, which joblib denies to all process pools for the sake of forked ones."""

        supports_return_generator = True

        def terminate(self) -> None:
            """End the workers before they are asked to end, which Ray would report on stdout as a failure to retry."""
            if self._pool is not None:
                for actor, _ in self._pool._actor_pool:
                    ray.kill(actor)
                self._pool._actor_pool = []
            super().terminate()

    with ExitStack() as opened:
        if not ray.is_initialized():
            count = workers or os.cpu_count() or 1
            quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
            ray.init("local", num_cpus=count, **quiet)
            opened.callback(ray.shutdown)
        slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        mine = slots if workers is None else min(workers, slots)
        backend = StreamingRay(ray_remote_args={"max_restarts": -1, "max_task_retries": _DEATHS})
        yield Cluster(backend, mine, 2 * mine, (ray.exceptions.RayError,))
