"""Paths that cannot be meant are refused before anything is made or waited for,
with exit code 2 and in the words of who typed them.
"""

import os
import subprocess
import unittest

import harness


class BadPathsTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("bad-paths")
        self.job = harness.write_job(self.folder, harness.DATA, harness.MLP,
                                     harness.SGD, harness.TRAINING)

    def test_output_that_can_be_no_folder(self):
        (self.folder / "file").write_text("")
        for output, reason in [
                (self.folder / "file", "is a file"),
                (self.folder / "file" / "below", "lies below"),
                (self.folder / ("x" * 300), "too long"),
                ("/dev/null", "is no folder")]:
            with self.subTest(reason):
                result = harness.run("train", self.job, "--centralised",
                                     "--output", output)
                self.assertEqual(result.code, 2, str(result))
                self.assertIn(f"--output {output}", result.stderr)
                self.assertIn(reason, result.stderr)
                # Named as it was typed.
                self.assertNotIn("checkpoints", result.stderr)

    def test_what_is_no_run_is_told_by_every_command(self):
        for command in [["digest"], ["checkpoint", "list"],
                        ["checkpoint", "verify"], ["status", "--output"],
                        ["export", "--output", self.folder / "x.npz"]]:
            for path, reason in [(self.job, f"{self.job} is a file"),
                                 ("nowhere", "nowhere does not exist")]:
                with self.subTest(f"{command} {reason}"):
                    result = harness.run(*command, path)
                    self.assertEqual(result.code, 2, str(result))
                    self.assertIn(reason, result.stderr)

    def test_where_there_is_no_checkpoint_every_command_says_so(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for command in [["digest"], ["checkpoint", "list"],
                        ["checkpoint", "verify"],
                        ["export", "--output", self.folder / "x.npz"]]:
            for path in [empty, "/"]:
                with self.subTest(f"{command} {path}"):
                    result = harness.run(*command, path)
                    self.assertEqual(result.code, 2, str(result))
                    self.assertIn("no ", result.stderr)
                    self.assertIn("checkpoint in", result.stderr)
                    self.assertEqual(result.stdout, "")

    def test_a_list_shows_what_is_seen_without_reading_all(self):
        harness.train(self.job, self.folder / "out", "--centralised",
                      "--set", "checkpointing.every_steps=12")
        result = harness.run("checkpoint", "list", self.folder / "out")
        self.assertEqual(result.code, 0, str(result))
        self.assertNotIn("damaged", result.stdout)
        self.assertIn("selari checkpoint verify", result.stdout)
        newest = self.folder / "out" / "checkpoints" / "step-000000024"
        file = sorted(newest.glob("*.safetensors"))[0]
        file.write_bytes(file.read_bytes()[:-1])
        result = harness.run("checkpoint", "list", self.folder / "out")
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("damaged, see below", result.stdout)
        self.assertIn(str(file), result.stdout)
        result = harness.run("checkpoint", "list",
                             self.folder / "out" / "checkpoints")
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("name the run", result.stderr)
        result = harness.run("checkpoint", "list", newest)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn(f"is one checkpoint; name the run, {self.folder}/out\n",
                      result.stderr)

    def test_a_result_that_cannot_be_written_is_a_failure(self):
        out = self.folder / "out"
        harness.train(self.job, out, "--centralised")
        for command in [["digest", out], ["checkpoint", "list", out],
                        ["checkpoint", "verify", out], ["version"],
                        ["export", out, "--output", self.folder / "x.npz"],
                        ["status", "--output", out], ["--help"]]:
            with self.subTest(command[0]), open("/dev/full", "w") as full:
                result = subprocess.run(
                    [harness.BINARY, *map(str, command)], stdout=full,
                    stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(
                    result.stderr.splitlines()[-1],
                    "selari: error: cannot write to standard output: No space "
                    "left on device")

    def test_export_into_a_folder_that_is_not_there(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        path = self.folder / "nowhere" / "x.npz"
        result = harness.run("export", self.folder / "out", "--output", path)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn(f"--output {path}", result.stderr)
        self.assertNotIn(".tmp", result.stderr)

    def test_export_replaces_files_only(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for output in [pipe, self.folder]:
            result = harness.run("export", self.folder / "out", "--output",
                                 output)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn(f"{output} is no regular file", result.stderr)
        self.assertTrue(pipe.is_fifo())

    def test_export_goes_by_the_name_of_the_file(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        for name, start in [("x.npz", b"PK"), ("x.safetensors", b"\x00{")]:
            path = self.folder / name
            result = harness.run("export", self.folder / "out", "--output",
                                 path)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn(start, path.read_bytes()[:9])
        result = harness.run("export", self.folder / "out", "--output",
                             self.folder / "y.npz", "--format", "safetensors")
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("does not fit", result.stderr)
        self.assertFalse((self.folder / "y.npz").exists())
        for name in ["z.foo", "z"]:
            path = self.folder / name
            result = harness.run("export", self.folder / "out", "--output",
                                 path)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn(".safetensors nor in .npz", result.stderr)
            self.assertFalse(path.exists())
        result = harness.run("export", self.folder / "out", "--output",
                             self.folder / "z.foo", "--format", "npz")
        self.assertEqual(result.code, 0, str(result))

    def test_a_worker_looks_for_its_data_folder_at_once(self):
        for folder, reason in [("nowhere", "does not exist"),
                               (self.job, "is a file")]:
            result = harness.run("worker", "--data-folder", folder)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn(f"--data-folder {folder} {reason}", result.stderr)
            self.assertNotIn("waits", result.stderr)

    def test_a_message_does_not_steer_the_terminal(self):
        red = "\x1b[31m"
        (self.folder / "red.csv").write_text(f"a{red},b\n1,2\n")
        job = self.folder / "red"
        job.write_text(f"{red}: 1\n")
        for arguments in [
                ["train" + red], ["train", self.job, "--x" + red],
                ["train", red], ["train", job], ["digest", red],
                ["train", self.job, "--set", f"name={red}"],
                ["train", self.job, "--set", f"{red}=1"],
                ["train", self.job, "--set", "data.train.csv={path: "
                 '"red.csv" label_column: "c"}'],
                ["status", "--coordinator", red + ":1"]]:
            with self.subTest(arguments):
                result = harness.run(*arguments)
                self.assertIn(result.code, [2, 3], str(result))
                self.assertNotIn("\x1b", result.stderr)


if __name__ == "__main__":
    unittest.main()
