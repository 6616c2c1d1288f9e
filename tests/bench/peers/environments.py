"""Virtual environments for the peers: one for each set of packages, made from
PyPI when it is missing or was made for another set."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class Environment:
    """What a peer's script runs in."""

    name: str
    packages: tuple  # "name==version", all that matter
    python_max: tuple = (3, 99)  # newest (major, minor) that has the packages


class NotMade(Exception):
    """Why there is no such environment here."""


def python_of(folder):
    return pathlib.Path(folder) / "bin" / "python"


def make(environment, folder, say, version=sys.version_info[:2],
         run=subprocess.run):
    """The environment's interpreter, below `folder`; `say` is told what gets
    installed. A whole environment has a stamp that names its packages.

    Raises:
      NotMade: with the reason in one line.
    """
    if version > environment.python_max:
        newest = ".".join(str(part) for part in environment.python_max)
        raise NotMade(f"{', '.join(environment.packages)}: no packages for a "
                      f"Python newer than {newest}")
    place = pathlib.Path(folder) / environment.name
    stamp = place / "selari-packages.txt"
    wanted = "\n".join((*environment.packages, "")) + sys.version
    if stamp.is_file() and stamp.read_text() == wanted:
        return python_of(place)
    say(f"installing {', '.join(environment.packages)} from PyPI into {place}")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    for command in ([sys.executable, "-m", "venv", str(place)],
                    [str(python_of(place)), "-m", "pip", "install", "--quiet",
                     "--disable-pip-version-check", *environment.packages]):
        result = run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise NotMade(_reason(result))
    stamp.write_text(wanted)
    return python_of(place)


def _reason(result):
    """pip's first line with an error, or whatever came last."""
    lines = (result.stderr + result.stdout).strip().splitlines()
    errors = [line for line in lines if re.match(r"(?i)error", line)]
    return (errors or lines[-1:] or [f"exit code {result.returncode}"])[0]
