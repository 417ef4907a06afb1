"""`python -m tests.golden [NAME …]` writes these snapshots anew, or all of them; `--show NAME …` prints some."""

import sys

from tests.golden.snapshots import DATA, END, PARTS, SNAPSHOTS, made

if sys.argv[1:2] == ["--show"]:
    sys.stdout.write(END.join((SNAPSHOTS | PARTS)[name]() for name in sys.argv[2:]))
else:
    for name in sys.argv[1:] or SNAPSHOTS:
        (DATA / name).write_text(made(name)[0], encoding="utf-8")
