"""compare.py with programs that only pretend to measure. Installs nothing."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest

import compare
import environments
import peer_table

SELARI = """
import json, sys
assert sys.argv[1:] == ["bench", "wire", "--megabytes", "3", "--repeats", "1",
                        "--steps", "0", "--json"], sys.argv
kind = {"bytes_per_second": 4e9, "raw_tcp_bytes_per_second": 5e9, "ratio": 0.8}
print(json.dumps({"push_apply": kind, "pull": kind, "both": kind}))
"""
PEER = """
import json
print("a word from a library")
print(json.dumps({"peer": "fake", "version": "7.1",
                  "push_apply_bytes_per_second": 1e9,
                  "pull_bytes_per_second": 2e9,
                  "both_bytes_per_second": 8e9}))
"""
ABSENT = """
import json
print(json.dumps({"peer": "fake", "version": "", "not_measured": "too old"}))
"""
WRONG = """
import sys
sys.exit("Mismatch: tensor 0")
"""


def rates(push_apply, pull=1.0, both=1.0):
    return {"push_apply": push_apply, "pull": pull, "both": both}


class TableTest(unittest.TestCase):

    def test_ratio_is_of_medians_and_its_spread_of_repeats(self):
        base = [rates(8.0), rates(10.0), rates(30.0)]
        result = peer_table.compare([rates(2.0), rates(5.0), rates(4.0)], base)
        self.assertEqual(result["push_apply"]["bytes_per_second"],
                         {"median": 4.0, "min": 2.0, "max": 5.0})
        self.assertEqual(result["push_apply"]["ratio"],
                         {"median": 2.5, "min": 2.0, "max": 7.5})

    def test_repeats_without_a_rate_are_left_out(self):
        base = [rates(8.0), None, rates(6.0)]
        result = peer_table.compare([None, rates(5.0), rates(3.0)], base)
        self.assertEqual(result["pull"]["bytes_per_second"]["median"], 1.0)
        self.assertEqual(result["push_apply"]["ratio"]["min"], 2.0)
        self.assertEqual(result["push_apply"]["ratio"]["max"], 2.0)

    def test_no_common_repeat_gives_no_ratio(self):
        result = peer_table.compare([None, rates(5.0)], [rates(8.0), None])
        self.assertIsNone(result["push_apply"]["ratio"])
        self.assertEqual(peer_table.compare([None], [rates(8.0)]), {})

    def test_numbers_that_are_no_rates_are_refused(self):
        for value in (0, -1.0, float("inf"), float("nan"), True, "1", None):
            line = {f"{kind}_bytes_per_second": 1.0
                    for kind in peer_table.KINDS}
            line["pull_bytes_per_second"] = value
            with self.assertRaisesRegex(peer_table.BadOutput, "pull_bytes"):
                peer_table.read_peer(line)
        with self.assertRaisesRegex(peer_table.BadOutput, "of push_apply"):
            peer_table.read_selari({"pull": {}})

    def test_a_row_that_broke_off_shows_both_rates_and_reason(self):
        rows = {
            "Selari": {"version": "", "rates": [rates(4e9)], "note": ""},
            "other": {"version": "1.2", "rates": [rates(1e9), None],
                      "note": "failed: exit code 1"},
        }
        text = peer_table.table(peer_table.summary(rows, "Selari"), "Selari")
        line = next(line for line in text.splitlines() if "other" in line)
        self.assertEqual(line.split(), [
            "other", "1.2", "1.00", "1.00-1.00", "4.00x", "4.00-4.00",
            "failed:", "exit", "code", "1"])


class CompareTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = environments.Environment("fake", ("nothing==0",))
        self.binary = self.write("selari", f"#!{sys.executable}\n{SELARI}")
        self.binary.chmod(0o755)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python").symlink_to(sys.executable)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def peer(self, name, text):
        script = self.write(f"{name}.py", text)
        return compare.Peer(name, script, self.environment)

    def run_main(self, *peers, flags=()):
        """The exit code, and what went to stdout and to stderr."""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), \
             contextlib.redirect_stderr(errors):
            code = compare.main(
                [str(self.binary), "--megabytes", "3", "--repeats", "2",
                 "--env", f"fake={self.folder}", *flags], peers)
        return code, output.getvalue(), errors.getvalue()

    def test_all_take_turns(self):
        code, output, errors = self.run_main(
            self.peer("one", PEER), self.peer("two", PEER), flags=["--json"])
        self.assertEqual(code, 0, errors)
        turns = [line.split(": ")[1] for line in errors.splitlines()]
        self.assertEqual(turns, ["Selari", "one", "two", "one", "two",
                                 "Selari"])
        report = json.loads(output)
        self.assertEqual(report["megabytes"], 3)
        one = report["rows"]["one"]
        self.assertEqual(one["version"], "7.1")
        self.assertEqual(one["kinds"]["push_apply"]["ratio"]["median"], 4.0)
        self.assertEqual(one["kinds"]["pull"]["ratio"]["median"], 2.0)
        self.assertEqual(one["kinds"]["both"]["ratio"]["median"], 0.5)
        raw = report["rows"]["raw TCP"]["kinds"]["pull"]["ratio"]
        self.assertEqual(raw["median"], 0.8)

    def test_a_peer_that_cannot_run_is_no_failure(self):
        code, output, errors = self.run_main(
            self.peer("old", ABSENT), self.peer("one", PEER))
        self.assertEqual(code, 0, errors)
        self.assertEqual(output.count("not measured: too old"), 3)
        self.assertEqual(errors.count(": old"), 1)  # not tried again

    def test_wrong_weights_are_a_failure_of_all(self):
        code, output, errors = self.run_main(self.peer("bad", WRONG),
                                             self.peer("one", PEER))
        self.assertEqual(code, 1)
        self.assertIn("bad: failed: exit code 1: Mismatch: tensor 0", errors)
        self.assertIn("4.00x", output)

    def test_no_json_and_no_end_are_failures(self):
        for text, reason, flags in (
                ("print('hello')", "it printed no JSON", []),
                ("print('[1]')", "it printed no JSON object", []),
                ("print('{}')", "push_apply_bytes_per_second is", []),
                ("import signal; signal.pause()", "not done after 1.0 s",
                 ["--timeout-s", "1"])):
            code, output, _ = self.run_main(self.peer("bad", text),
                                            flags=flags)
            self.assertEqual(code, 1)
            self.assertIn(f"failed: {reason}", output)

    def test_runs_on_the_cores_that_were_asked_for(self):
        core = min(os.sched_getaffinity(0))
        text = ("import os\n"
                f"assert os.sched_getaffinity(0) == {{{core}}}\n") + PEER
        code, _, errors = self.run_main(self.peer("one", text),
                                        flags=["--cpus", str(core)])
        self.assertEqual(code, 0, errors)


class EnvironmentTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "environments"
        self.commands, self.said = [], []
        self.code, self.errors = 0, ""

    def make(self, *packages, **options):
        def run(command, **_):
            self.commands.append(command)
            (self.folder / "fake").mkdir(exist_ok=True)
            return types.SimpleNamespace(returncode=self.code, stdout="",
                                         stderr=self.errors)
        environment = environments.Environment("fake", packages, (3, 50))
        return environments.make(environment, self.folder, self.said.append,
                                 run=run, **options)

    def test_is_made_once_and_said(self):
        python = self.make("a==1", "b==2")
        self.assertEqual(python, self.folder / "fake" / "bin" / "python")
        self.assertEqual(len(self.commands), 2)
        self.assertEqual(self.commands[1][-2:], ["a==1", "b==2"])
        self.assertIn("a==1, b==2 from PyPI", self.said[0])
        self.make("a==1", "b==2")
        self.assertEqual(len(self.commands), 2)

    def test_is_made_again_for_other_packages_or_after_a_failure(self):
        self.make("a==1")
        self.make("a==2")
        self.assertEqual(len(self.commands), 4)
        self.code, self.errors = 1, "WARNING: x\nERROR: no such package\nhint"
        with self.assertRaisesRegex(environments.NotMade, "^ERROR: no such"):
            self.make("a==3")
        self.code = 0
        self.make("a==3")
        self.assertEqual(len(self.commands), 7)

    def test_a_python_that_is_too_new_is_told(self):
        with self.assertRaisesRegex(environments.NotMade, "newer than 3.50"):
            self.make("a==1", version=(3, 51))
        self.assertEqual(self.commands, [])


if __name__ == "__main__":
    unittest.main()
