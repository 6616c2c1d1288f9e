"""The project's own files, as they stand in the source tree.

Bazel shows a test only what its target lists, which is not the whole tree; but
a runfile is a symbolic link, and where it leads is the tree.
"""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files():
    """Paths, relative to ROOT, of tracked files and of new, unignored ones."""
    try:
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = _walk()  # unpacked from an archive, say
    return sorted(path for path in set(listed) if path and (ROOT / path).is_file())


def _walk():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders
            if name not in (".git", ".selari", ".venv", "__pycache__")
        ]
        for name in names:
            yield str((pathlib.Path(folder) / name).relative_to(ROOT))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")
