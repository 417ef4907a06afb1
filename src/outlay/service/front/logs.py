"""Logs as lines of JSON on stderr: one object per record, with what was said about a request."""

import json
import logging
from datetime import UTC, datetime


class Lines(logging.Formatter):
    """A record as a line of JSON.

    >>> record = logging.makeLogRecord({"name": "outlay", "levelname": "INFO", "msg": "request", "created": 0.0})
    >>> record.said = {"status": 200}
    >>> Lines().format(record)
    '{"at": "1970-01-01T00:00:00+00:00", "level": "info", "log": "outlay", "message": "request", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "log": record.name,
            "message": record.getMessage(),
            **getattr(record, "said", {}),
        }
        for field in ("request", "campaign"):
            if hasattr(record, field):
                line[field] = getattr(record, field)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up() -> None:
    """Have all that the service, the campaigns and the server say printed so."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("outlay", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
