"""`python -m tests.golden [NAME …]` writes these snapshots anew, or all of them; `--show NAME` prints one."""

import sys

from tests.golden.snapshots import DATA, SNAPSHOTS, made

if sys.argv[1:2] == ["--show"]:
    sys.stdout.write(SNAPSHOTS[sys.argv[2]]())
else:
    for name in sys.argv[1:] or SNAPSHOTS:
        (DATA / name).write_text(made(name), encoding="utf-8")
