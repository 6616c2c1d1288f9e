"""Runs every command that the documentation shows; see blocks.py.

The commands run in a folder that shows the project through links, so that
what they write does not land in the tree. There, ./selari is the binary that
was built with this test: Bazel cannot be called from inside its own test, so
`./selari build`, `test`, `format` and `lint` do nothing (launcher_test.sh
tests them).

Where it may (as root), it runs in a network namespace of its own, so that the
ports that the documentation names are free.

Usage: docs_test.py SELARI_BINARY
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tests.docs import blocks
from tests.tidy import project

BINARY = ""
BLOCK_SECONDS_MAX = 600
READY_SECONDS_MAX = 60

LAUNCHER = """#!/bin/bash
case "${1-}" in
  build | test | format | lint) exit 0 ;;
  *) exec "%s" "$@" ;;
esac
"""


def enter_own_network():
    """Starts this program again in a new network namespace, if that is allowed."""
    if os.geteuid() != 0 or os.environ.get("SELARI_OWN_NETWORK"):
        return
    probe = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
    with contextlib.suppress(OSError):
        if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.environ["SELARI_OWN_NETWORK"] = "1"
            script = 'ip link set lo up && exec "$0" "$@"'
            os.execvp("unshare", [
                "unshare", "--net", "bash", "-c", script, sys.executable, *sys.argv])


def documents():
    return [path for path in project.files() if path.endswith(".md")]


def make_workspace(folder):
    """Links to the project's own folders and files; ./selari is the binary.

    What a user's runs left in the clone is not shown: the commands would find
    runs of their names there.
    """
    for name in {path.split("/")[0] for path in project.files()}:
        if not name.startswith((".git", "selari")):
            (folder / name).symlink_to(project.ROOT / name)
    launcher = folder / "selari"
    launcher.write_text(LAUNCHER % BINARY)
    launcher.chmod(0o755)


class Background:
    """Blocks that keep running until the file's last block has ended."""

    def __init__(self, workspace):
        self._workspace = workspace
        self._running = []

    def start(self, where, script, ready_text):
        log = tempfile.TemporaryFile("w+", encoding="utf-8")
        process = subprocess.Popen(
            ["bash", "-euc", script],
            cwd=self._workspace, stdout=log, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )
        self._running.append((where, process, log))
        self.wait_for(ready_text, where)

    def wait_for(self, text, where):
        """Until some block's output contains `text`; AssertionError if never."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not any(text in self._output(log) for _, _, log in self._running):
            ended = [w for w, p, _ in self._running if w == where and p.poll() is not None]
            if ended or time.monotonic() > deadline:
                shown = "\n".join(self._output(log) for _, _, log in self._running)
                raise AssertionError(f"{where}: never said {text!r}:\n{shown}")
            time.sleep(0.05)

    def end(self):
        # To the whole group: bash itself waits for its child.
        for _, process, _ in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for where, process, log in self._running:
            with log:
                self._end_one(where, process, log)

    def _end_one(self, where, process, log):
        try:
            process.wait(timeout=READY_SECONDS_MAX)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            shown = self._output(log)
            raise AssertionError(f"{where}: ignores SIGTERM:\n{shown}") from late

    @staticmethod
    def _output(log):
        return os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")


def run(block, where, workspace):
    """Runs one block in the foreground; AssertionError if it does not do."""
    result = subprocess.run(
        [block.notes.get("shell", "bash"), "-euo", "pipefail", "-c",
         blocks.commands_to_run(block)],
        cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=BLOCK_SECONDS_MAX, check=False,
    )
    expected = int(block.notes.get("exit", "0"))
    if result.returncode != expected or block.notes.get("output", "") not in result.stdout:
        raise AssertionError(
            f"{where} exited with {result.returncode}, expected {expected} and "
            f"{block.notes.get('output', 'any output')!r}:\n"
            f"{block.commands}---\n{result.stdout}"
        )


class DocsTest(unittest.TestCase):
    def run_document(self, path):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            workspace = pathlib.Path(folder)
            make_workspace(workspace)
            background = Background(workspace)
            try:
                for block in blocks.blocks(project.read(path)):
                    self.run_block(block, f"{path}:{block.line}", workspace, background)
            finally:
                background.end()

    def run_block(self, block, where, workspace, background):
        notes = block.notes
        if "skip" in notes or ("long" in notes and not os.environ.get("SELARI_DOC_TEST_LONG")):
            print(f"{where}: not run: {notes.get('skip') or notes.get('long')}")
            return
        print(f"{where}: {block.commands.strip().splitlines()[-1]}", flush=True)
        if "wait" in notes:
            background.wait_for(notes["wait"], where)
        if "background" in notes:
            background.start(where, blocks.commands_to_run(block), notes["background"])
        else:
            run(block, where, workspace)

    def test_commands_do_what_the_text_says(self):
        for path in documents():
            with self.subTest(path):
                self.run_document(path)

    def test_outputs_of_the_commands_are_ignored_by_git(self):
        ignored = project.read(".gitignore").splitlines()
        for path in documents():
            for block in blocks.blocks(project.read(path)):
                script = blocks.commands_to_run(block)
                for folder in re.findall(r"--output (\w[\w-]*)/", script):
                    self.assertIn(f"/{folder}/", ignored, f"{path}:{block.line}")

    def test_the_workspace_shows_no_outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            make_workspace(pathlib.Path(folder))
            names = {entry.name for entry in pathlib.Path(folder).iterdir()}
        own = {path.split("/")[0] for path in project.files()}
        self.assertLessEqual(names - {"selari"}, own)
        self.assertIn("examples", names)

    def test_what_is_skipped_has_a_reason(self):
        for path in documents():
            for block in blocks.blocks(project.read(path)):
                for kind in ("skip", "long"):
                    self.assertNotEqual(block.notes.get(kind), "", f"{path}:{block.line}")

    def test_links_lead_somewhere(self):
        for path in documents():
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", project.read(path)):
                if not re.match(r"[a-z]+:", target):
                    full = project.ROOT / os.path.dirname(path) / target
                    self.assertTrue(full.exists(), f"{path}: no {target}")


if __name__ == "__main__":
    enter_own_network()
    BINARY = os.path.realpath(sys.argv.pop(1))
    unittest.main()
