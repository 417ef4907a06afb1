"""Who is served next, where more commands wait than one transaction takes."""

from collections import deque

from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.job import Job

LARGEST = 256  # commands in one transaction, a last job that is larger aside


def fair(waiting: list[Job]) -> tuple[list[Job], list[Job]]:
    """Those to serve now and those to serve later: where there are too many, campaigns take turns."""
    if sum(len(job.left) for job in waiting) <= LARGEST:
        return waiting, []
    queues: dict[Book, deque[Job]] = {}
    for job in waiting:
        queues.setdefault(job.book, deque()).append(job)
    now: list[Job] = []
    size = 0
    while size < LARGEST and queues:
        for book in list(queues):
            now.append(queues[book].popleft())
            size += len(now[-1].left)
            if not queues[book]:
                del queues[book]
            if size >= LARGEST:
                break
    served = {job.book for job in now}  # their next turn comes after that of the others
    return now, [queues[book][i] for book in sorted(queues, key=served.__contains__) for i in range(len(queues[book]))]
