"""How much an installation weighs, with each extra: `make footprint`. Needs the package index, and minutes."""

import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_OURS = ("pip", "setuptools", "_distutils_hack", "distutils-precedence")


def main() -> None:
    """Install outlay, and outlay with each extra, into an environment of its own, and print the megabytes."""
    for extra in ("", "[simulate]", "[report]"):
        with tempfile.TemporaryDirectory() as folder:
            print(f"outlay{extra:<12} {megabytes(Path(folder), extra):>6.0f} MB", flush=True)


def megabytes(folder: Path, extra: str) -> float:
    """What `pip install` of this checkout puts into an empty environment, without pip itself."""
    venv.create(folder, with_pip=True)
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"{ROOT}{extra}",
    ]
    subprocess.run(command, check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    files = (path for path in packages.rglob("*") if path.is_file() and not path.is_symlink())
    kept = (path for path in files if not path.relative_to(packages).parts[0].startswith(NOT_OURS))
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in kept) / 2**20  # in blocks of the disk, as `du` counts


if __name__ == "__main__":
    main()
