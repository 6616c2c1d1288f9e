"""Whatever is wrong gets one sentence that names the thing and the numbers;
nothing hangs and nothing half is left behind.
"""

import gzip
import os
import socket
import subprocess
import unittest

import harness

JOB = (harness.DATA, harness.MLP, harness.SGD, harness.TRAINING)


class BadInputTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("bad-input")
        self.job = harness.write_job(self.folder, *JOB)

    def refused(self, parts, *arguments, code=2, job=None):
        """Runs `train`; it must fail with all `parts` in one sentence."""
        result = harness.run("train", job or self.job, "--output",
                             self.folder / "out", "--centralised", *arguments)
        self.assertEqual(result.code, code, str(result))
        errors = [line for line in result.stderr.splitlines()
                  if line.startswith("selari: error: ")]
        self.assertEqual(len(errors), 1, str(result))
        for part in parts:
            self.assertIn(part, errors[0])

    # The job file.

    def test_job_file_that_is_missing(self):
        self.refused(["nowhere.textproto", "No such file"],
                     job="nowhere.textproto")

    def test_job_file_that_is_no_regular_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        (self.folder / "empty").write_text("")
        for path, reason in [(pipe, "a pipe"), ("/dev/null", "a device"),
                             (self.folder, "a directory"),
                             (self.folder / "empty", "is empty")]:
            with self.subTest(reason):
                self.refused([str(path), reason], job=path)

    def test_job_file_with_an_unknown_field(self):
        self.job.write_text(self.job.read_text() + "sede: 1\n")
        self.refused(["job.textproto:", "sede"])

    def test_impossible_values(self):
        for change, parts in [
                ("training.batch_size=-1", ["batch_size", "-1"]),
                ("optimizer.learning_rate=-0.1", ["learning_rate", "-0.1"]),
                ("optimizer.sgd.momentum=1.5", ["momentum", "1.5"]),
                ("model.layers[0].dense.units=0", ["units", "0"]),
                ("model.layers[3].dense.units=5", ["5", "4"]),
                ("model.layers[2].dropout.rate=1", ["rate", "1"]),
                ("cluster.shard_count=0x2000", ["shard_count", "8192"]),
                ("consistency.staleness=3", ["staleness", "3"]),
                ("data.feature_shape=[9, 9, 1]", ["8x8", "9x9x1"]),
        ]:
            with self.subTest(change):
                self.refused(parts, "--set", change)

    def test_ranges_do_not_depend_on_the_mode(self):
        for change, parts in [
                ("cluster.workers=1025", ["cluster.workers", "1025", "1024"]),
                ("cluster.servers=9999", ["cluster.servers", "9999", "1024"])]:
            with self.subTest(change):
                self.refused(parts, "--set", change)

    def test_what_is_not_utf8_is_refused_before_anything_is_made(self):
        name = os.fsdecode(b"caf\xe9")
        self.refused(["path", "\\xe9.csv", "not UTF-8"], "--set",
                     f"data.train.csv.path={name}.csv")
        result = harness.run("train", self.job, "--output",
                             os.path.join(self.folder, name))
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("caf\\xe9 is not UTF-8", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, name)))

    def test_unknown_flag(self):
        result = harness.run("train", "--serverz", 2, self.job)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("no flag --serverz, did you mean --servers?",
                      result.stderr)

    def test_json_ends_with_a_summary_also_when_nothing_began(self):
        result = harness.run("train", self.job, "--json", "--output",
                             self.folder / "out", "--set",
                             "data.train.idx.labels=nowhere.idx")
        self.assertEqual(result.code, 2, str(result))
        self.assertEqual(result.summary["state"], "failed")
        self.assertIn("nowhere.idx", result.summary["message"])

    def test_a_model_of_the_users_own_is_not_for_train(self):
        result = harness.run("train", "examples/python/softmax.textproto",
                             "--output", self.folder / "out")
        self.assertEqual(result.code, 2, str(result))
        for part in ["model.custom", "selari coordinator", "selari server",
                     "the user's own worker"]:
            self.assertIn(part, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse((self.folder / "out").exists())

    # The data.

    def test_data_that_is_missing(self):
        (self.folder / "images.idx").unlink()
        self.refused(["images.idx"])

    def test_data_that_is_no_regular_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path, reason in [(pipe, "a pipe"), (self.folder, "a directory")]:
            with self.subTest(reason):
                self.refused([str(path), reason], "--set",
                             f"data.train.idx.features={path}")

    def test_a_bad_test_set_is_found_before_anything_is_made(self):
        (self.folder / "short.idx").write_bytes(b"\0\0\x08\1\0\0\0\2\1\1")
        stated = ["--set", "data.class_count=4", "--set",
                  "data.train_sample_count=300"]
        for facts in [[], stated]:
            for name in ["nowhere.idx", "short.idx"]:
                with self.subTest(f"{facts} {name}"):
                    self.refused([name], "--set",
                                 f"data.test.idx.labels={name}", *facts)
                    self.assertFalse((self.folder / "out").exists())

    def test_truncated_data(self):
        path = self.folder / "images.idx"
        path.write_bytes(path.read_bytes()[:-100])
        self.refused(["images.idx", str(300 * 64), str(300 * 64 - 100)])

    def test_truncated_gzip(self):
        path = self.folder / "images.idx"
        path.write_bytes(gzip.compress(path.read_bytes())[:-100])
        self.refused(["images.idx"])

    def test_labels_out_of_range(self):
        self.refused(["labels.idx: label of row", "is 3", "0 to 2"], "--set",
                     "data.class_count=3")

    def test_fewer_labels_than_images(self):
        harness.write_idx(self.folder / "labels.idx", [299], [0] * 299)
        self.refused(["300", "299"])

    def test_nan_in_the_data(self):
        text = "a,b,label\n1,2,0\n3,nan,1\n"
        (self.folder / "data.csv").write_text(text)
        self.job.write_text(
            'data { train { csv { path: "data.csv" label_column: "label" } } }'
            + "model { layers { dense { units: 2 } }"
            " loss: LOSS_SOFTMAX_CROSS_ENTROPY }" + harness.SGD)
        self.refused(["data.csv", "nan"])

    def csv_job(self, rows, loss, label="label"):
        (self.folder / "data.csv").write_text("a,b,label\n" + rows)
        self.job.write_text(
            'data { train { csv { path: "data.csv" label_column: "' + label
            + '" } } } model { layers { dense { units: 1 } } loss: ' + loss
            + " }" + harness.SGD)

    def test_a_label_that_is_no_class_is_named_with_its_line(self):
        self.csv_job("1,2,0\n3,4,1\n5,6,2\n", "LOSS_LOGISTIC")
        self.refused(["data.csv: line 4, column 'label': '2'", "0 to 1"])

    def test_a_column_that_is_not_there(self):
        self.csv_job("1,2,0\n", "LOSS_LOGISTIC", label="lable")
        self.refused(["data.csv", "'lable'", "a, b, label"])

    def test_a_gradient_that_is_not_finite(self):
        # A squared error with such a rate grows without bound.
        self.refused(["step 2", "leaf 0", "diverged"], "--set",
                     "optimizer.learning_rate=1e6", "--set",
                     "model.loss=MEAN_SQUARED_ERROR", "--set",
                     "model.layers[3].dense.units=1", code=1)

    # The output folder.

    def test_output_that_holds_another_run(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        self.refused(["out", "step 24", "--resume"])

    def test_output_of_a_run_that_is_under_way(self):
        first = harness.start("train", self.job, "--output",
                              self.folder / "out", "--centralised", "--steps",
                              1000000, "--json")
        metrics = self.folder / "out" / "metrics.csv"
        harness.wait_until(
            lambda: metrics.exists() and metrics.read_text().count("\n") > 3,
            "three rows of metrics")
        recorded = metrics.read_text()
        self.refused(["another process", str(first.pid)], code=1)
        first.terminate()
        self.assertEqual(harness.finish(first).code, 128 + 15)
        self.assertTrue(metrics.read_text().startswith(recorded))

    def test_no_permission_to_write(self):
        if os.geteuid() == 0:
            # root may write anywhere: a file in the way refuses root too.
            (self.folder / "out").write_text("")
            self.refused(["out is a file"])
        else:
            self.folder.chmod(0o500)
            self.refused(["out", "ermission"], code=1)
            self.folder.chmod(0o700)

    def test_runs_that_start_together_have_folders_of_their_own(self):
        runs = [harness.start("train", self.job, "--centralised", "--json",
                              cwd=self.folder) for _ in range(6)]
        results = [harness.finish(run) for run in runs]
        for result in results:
            self.assertEqual(result.code, 0, str(result))
        self.assertEqual(len({r.summary["output"] for r in results}), 6)

    def test_the_folder_of_checkpoints_is_told_from_a_run(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        folder = self.folder / "out" / "checkpoints"
        for command in [["checkpoint", "verify"], ["digest"]]:
            result = harness.run(*command, folder)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn("name the run", result.stderr)
            self.assertIn("step-000000024", result.stderr)

    # Addresses and members.

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            result = harness.run("coordinator", self.job, "--servers", 1,
                                 "--listen", address, "--output",
                                 self.folder / "out")
        self.assertNotEqual(result.code, 0, str(result))
        self.assertIn(address, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, str(result))

    def test_two_servers_with_one_id_and_a_missing_server(self):
        address = f"127.0.0.1:{harness.free_port()}"
        coordinator = harness.start(
            "coordinator", self.job, "--servers", 2, "--listen", address,
            "--output", self.folder / "out", "--set",
            "cluster.join_timeout_s=8")
        first = harness.start("server", "--coordinator", address, "--id", 0)

        def joined():
            result = harness.run("status", "--coordinator", address)
            return "server 0  alive" in result.stdout and result.stdout
        status = harness.wait_until(joined, "server 0 to join")
        self.assertIn("server 1", status)  # who is missing
        second = harness.run("server", "--coordinator", address, "--id", 0)
        self.assertNotEqual(second.code, 0, str(second))
        self.assertIn("0", second.stderr)
        # The coordinator gives up after join_timeout_s and says on whom.
        result = harness.finish(coordinator)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("server 1", result.stderr)
        harness.finish(first)

    def test_servers_of_an_earlier_run_do_not_harm_the_next(self):
        address = f"127.0.0.1:{harness.free_port()}"
        shape = ["coordinator", self.job, "--servers", 1, "--workers", 1,
                 "--listen", address, "--output", self.folder / "out"]
        first = harness.start(*shape)
        left = harness.start("server", "--coordinator", address)

        def joined():
            result = harness.run("status", "--coordinator", address)
            return "server 0  alive" in result.stdout
        harness.wait_until(joined, "server 0 to join")
        first.kill()
        harness.finish(first)
        second = harness.start(*shape)
        refused = harness.finish(left)
        self.assertEqual(refused.code, 1, str(refused))
        self.assertIn("this coordinator runs job", refused.stderr)
        members = [harness.start("server", "--coordinator", address),
                   harness.start("worker", "--coordinator", address,
                                 "--data-folder", self.folder)]
        for process in [second, *members]:
            result = harness.finish(process)
            self.assertEqual(result.code, 0, str(result))

    def test_a_server_without_a_coordinator_says_so_within_seconds(self):
        address = f"127.0.0.1:{harness.free_port()}"
        log = self.folder / "server.log"
        with open(log, "w") as stderr:
            server = subprocess.Popen(
                [harness.BINARY, "server", "--coordinator", address],
                stderr=stderr)
        harness.wait_until(lambda: address in log.read_text(),
                           "the name of who is missing", seconds=8)
        server.terminate()
        self.assertEqual(server.wait(20), 0)

    def test_a_worker_without_a_coordinator_ends_well_when_told(self):
        address = f"127.0.0.1:{harness.free_port()}"
        log = self.folder / "worker.log"
        with open(log, "w") as stderr:
            worker = subprocess.Popen(
                [harness.BINARY, "worker", "--coordinator", address],
                stderr=stderr)
        harness.wait_until(lambda: address in log.read_text(),
                           "the name of who is missing", seconds=8)
        worker.terminate()
        self.assertEqual(worker.wait(20), 0, log.read_text())

    def test_a_worker_that_lacks_the_data_says_where_it_looked(self):
        address = f"127.0.0.1:{harness.free_port()}"
        coordinator = harness.start(
            "coordinator", self.job, "--servers", 1, "--workers", 1,
            "--listen", address, "--output", self.folder / "out")
        empty = self.folder / "empty"
        empty.mkdir()
        result = harness.run("worker", "--coordinator", address, cwd=empty)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn(str(empty / "images.idx"), result.stderr)
        self.assertIn("--data-folder", result.stderr)
        coordinator.terminate()
        harness.finish(coordinator)

    def test_a_coordinator_whose_port_is_in_use_leaves_no_folder(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            for output in [["--output", self.folder / "out"], []]:
                result = harness.run("coordinator", self.job, "--servers", 1,
                                     "--listen", address, *output,
                                     cwd=self.folder)
                self.assertEqual(result.code, 1, str(result))
                self.assertIn(f"cannot listen on {address}", result.stderr)
        self.assertFalse((self.folder / "out").exists())
        self.assertFalse((self.folder / "selari-output").exists())

    def test_who_asks_a_coordinator_that_is_not_there(self):
        address = f"127.0.0.1:{harness.free_port()}"
        for command, advice in [
                (["status"], "; `train` says its coordinator's address when"
                 " it starts; or give the run's folder: --output DIR"),
                (["checkpoint", "save"], "")]:
            result = harness.run(*command, "--coordinator", address)
            self.assertEqual(result.code, 3, str(result))
            self.assertEqual(
                result.stderr,
                f"selari: error: the coordinator at {address}: no connection:"
                " Connection refused; check the address, and that it was"
                f" started{advice}\n")

    # The disk.

    def test_disk_full_while_saving(self):
        disk = self.folder / "disk"
        disk.mkdir()
        # Large enough for the logs, not for the weights of the last layer.
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k",
                                "tmpfs", str(disk)], capture_output=True)
        if mount.returncode != 0:
            self.skipTest("cannot mount a small file system here")
        try:
            result = harness.run(
                "train", self.job, "--output", disk / "out", "--centralised",
                "--set", "model.layers[0].dense.units=2000")
            self.assertEqual(result.code, 1, str(result))
            self.assertIn("No space left", result.stderr)
            left = list((disk / "out" / "checkpoints").glob("step-*"))
            self.assertEqual(left, [])
        finally:
            subprocess.run(["umount", str(disk)], check=False)


if __name__ == "__main__":
    unittest.main()
