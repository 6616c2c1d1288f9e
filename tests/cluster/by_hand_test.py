"""A cluster whose members are started by hand tells as much as `train` does,
and each member says in plain lines how it lives and ends.
"""

import csv
import json
import signal
import subprocess
import time
import unittest

import harness

TRAINING = ("training { batch_size: 48 steps: 24 log_every_steps: 4 "
            "evaluate_every_steps: 8 }\n")
LONG = ("training { batch_size: 48 steps: 100000 log_every_steps: 10 }\n"
        "cluster { lease_ms: 2000 }\n")
IMPATIENT = LONG.replace("2000 }", "2000 join_timeout_s: 15 }")


class Cluster:
    """A coordinator, servers and workers; what each prints goes to a file."""

    def __init__(self, folder, job):
        self.folder = folder
        self.job = job
        self.address = f"127.0.0.1:{harness.free_port()}"
        self.members = {}

    def start(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "w")
        with log:
            self.members[name] = subprocess.Popen(
                [harness.BINARY, *map(str, arguments)], stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)

    def start_all(self, *coordinator, servers=1, workers=1):
        self.start("coordinator", "coordinator", self.job, "--servers",
                   servers, "--workers", workers, "--listen", self.address,
                   "--output", self.folder / "out", *coordinator)
        for i in range(servers):
            self.start(f"server{i}", "server", "--coordinator", self.address,
                       "--id", i)
        for i in range(workers):
            self.start_worker(f"worker{i}", i, self.folder)

    def start_worker(self, name, worker_id, data):
        self.start(name, "worker", "--coordinator", self.address, "--id",
                   worker_id, "--data-folder", data)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def wait_for(self, name, text, seconds=60):
        harness.wait_until(lambda: text in self.log(name),
                           f"{text!r} of {name}", seconds)

    def finish(self, name, seconds=60):
        """The exit code; a hang is an error that shows what it printed."""
        try:
            return self.members[name].wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} hangs:\n{self.log(name)}")

    def end(self):
        for process in self.members.values():
            process.kill()
            process.wait()


class ClusterTest(unittest.TestCase):

    def cluster(self, training):
        folder = harness.scratch("by-hand")
        job = harness.write_job(folder, harness.DATA, harness.MLP,
                                harness.ADAM, training)
        cluster = Cluster(folder, job)
        self.addCleanup(cluster.end)
        return cluster


class ByHandTest(ClusterTest):

    def test_the_coordinator_shows_and_records_what_train_does(self):
        cluster = self.cluster(TRAINING)
        harness.train(cluster.job, cluster.folder / "train", "--servers", 1,
                      "--workers", 2)
        cluster.start_all(workers=2)
        for name in cluster.members:
            self.assertEqual(cluster.finish(name), 0, cluster.log(name))
        shown = cluster.log("coordinator")
        for part in ["1 server, 2 workers", "step 24/24", "loss", "accuracy",
                     "step 8  test loss", "checkpoint in", "done, 24 steps",
                     "accuracy 1.0000", "digest",
                     harness.digest(cluster.folder / "out")]:
            self.assertIn(part, shown)
        tables = []
        for output in ["out", "train"]:
            with open(cluster.folder / output / "metrics.csv") as file:
                tables.append([
                    {**row, "samples_per_second": ""}
                    for row in csv.DictReader(file)])
            events = cluster.folder / output / "tensorboard"
            self.assertTrue(list(events.glob("events.out.tfevents.*")))
        self.assertEqual(sorted(map(str, tables[0])),
                         sorted(map(str, tables[1])))
        self.assertTrue(any(row["test_accuracy"] for row in tables[0]))

    def test_the_coordinator_prints_events_for_programs(self):
        cluster = self.cluster(TRAINING)
        coordinator = harness.start(
            "coordinator", cluster.job, "--servers", 1, "--workers", 1,
            "--listen", cluster.address, "--output", cluster.folder / "out",
            "--json")
        cluster.start("server0", "server", "--coordinator", cluster.address)
        cluster.start("worker0", "worker", "--coordinator", cluster.address,
                      "--data-folder", cluster.folder)
        result = harness.finish(coordinator)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.summary["state"], "done")
        self.assertEqual(result.summary["test_accuracy"], 1.0)
        self.assertEqual(result.summary["digest"],
                         harness.digest(cluster.folder / "out"))
        kinds = {event["event"] for event in result.events}
        self.assertLessEqual({"start", "progress", "evaluation", "checkpoint",
                              "summary"}, kinds)

    def test_members_say_that_they_joined_what_they_hold_and_how_it_ended(self):
        cluster = self.cluster(TRAINING)
        cluster.start_all(workers=2)
        for name in cluster.members:
            self.assertEqual(cluster.finish(name), 0, cluster.log(name))
        worker = cluster.log("worker1")
        for part in ["worker 1 joined job", cluster.address,
                     "300 samples to train on and 300 to test on",
                     "4 of the 8 parts of every batch, from step 0 to 24",
                     "on 1 server\n", "worker 1 ended: all steps are done"]:
            self.assertIn(part, worker)
        server = cluster.log("server0")
        for part in ["server 0 joined job", "serves 16 shards",
                     "server 0 ended: the job is done"]:
            self.assertIn(part, server)

    def test_a_stopped_job_is_told_to_every_member(self):
        cluster = self.cluster(LONG)
        cluster.start_all()
        cluster.wait_for("coordinator", "loss")
        cluster.members["coordinator"].send_signal(signal.SIGINT)
        for name in cluster.members:
            self.assertEqual(cluster.finish(name), 0, cluster.log(name))
        self.assertIn("worker 0 ended: the job was stopped",
                      cluster.log("worker0"))
        self.assertIn("server 0 ended: the job was stopped",
                      cluster.log("server0"))
        self.assertIn("--resume", cluster.log("coordinator"))


class StatusTest(ClusterTest):

    def test_status_follows_a_job_to_its_end_and_can_be_read_later(self):
        cluster = self.cluster(TRAINING)
        watch = harness.start("status", "--watch", "--coordinator",
                              cluster.address)
        self.assertIn("waits for the coordinator", watch.stderr.readline())
        cluster.start("coordinator", "coordinator", cluster.job, "--servers", 1,
                      "--workers", 1, "--listen", cluster.address, "--output",
                      cluster.folder / "out")
        cluster.wait_for("coordinator", "coordinator of job")
        alone = harness.run("status", "--coordinator", cluster.address)
        self.assertIn("server 0  has not joined yet", alone.stdout)
        self.assertNotIn("missing", alone.stdout)
        cluster.start("server0", "server", "--coordinator", cluster.address)
        cluster.start("worker0", "worker", "--coordinator", cluster.address,
                      "--data-folder", cluster.folder)
        watched = harness.finish(watch)
        self.assertEqual(watched.code, 0, str(watched))
        self.assertEqual(cluster.finish("coordinator"), 0)
        later = harness.run("status", "--output", cluster.folder / "out")
        self.assertEqual(later.code, 0, str(later))
        for shown in [watched.stdout, later.stdout]:
            for part in ["DONE  step 24/24", "test accuracy 1.0000",
                         harness.digest(cluster.folder / "out")]:
                self.assertIn(part, shown)
        self.assertNotIn("missing", watched.stdout)
        nowhere = harness.run("status", "--output", cluster.folder / "none")
        self.assertEqual(nowhere.code, 2, str(nowhere))

    def test_a_watch_that_nobody_reads_ends_quietly(self):
        cluster = self.cluster(LONG)
        cluster.start_all()
        watch = harness.start("status", "--watch", "--coordinator",
                              cluster.address)
        cluster.wait_for("coordinator", "loss")
        watch.stdout.readline()
        watch.stdout.close()
        self.assertEqual(watch.wait(30), -signal.SIGPIPE)
        self.assertNotIn("error", watch.stderr.read())
        watch.stderr.close()

    def test_a_watch_that_cannot_be_written_fails(self):
        cluster = self.cluster(LONG)
        cluster.start_all()
        cluster.wait_for("coordinator", "loss")
        with open("/dev/full", "w") as full:
            watch = subprocess.run(
                [harness.BINARY, "status", "--watch", "--coordinator",
                 cluster.address], stdout=full, stderr=subprocess.PIPE,
                text=True, timeout=30)
        self.assertEqual(watch.returncode, 1, watch.stderr)
        self.assertEqual(watch.stderr.count("\n"), 1, watch.stderr)
        self.assertIn("standard output", watch.stderr)

    def test_train_says_where_its_coordinator_is(self):
        cluster = self.cluster(LONG)
        process = harness.start(
            "train", cluster.job, "--servers", 1, "--workers", 1, "--output",
            cluster.folder / "out", "--json")
        start = json.loads(process.stdout.readline())
        self.assertEqual(start["event"], "start", start)
        status = harness.run("status", "--coordinator", start["coordinator"])
        self.assertEqual(status.code, 0, str(status))
        self.assertIn("server 0", status.stdout)
        second = harness.run("train", cluster.job, "--output",
                             cluster.folder / "out", "--resume")
        self.assertEqual(second.code, 1, str(second))
        self.assertIn("another process", second.stderr)
        process.terminate()
        harness.finish(process)

    def test_status_shows_why_a_job_failed(self):
        cluster = self.cluster(IMPATIENT)
        cluster.start_all()
        cluster.wait_for("worker0", "computes")
        watch = harness.start("status", "--watch", "--coordinator",
                              cluster.address)
        time.sleep(0.5)
        cluster.members["server0"].kill()
        watched = harness.finish(watch)
        self.assertEqual(watched.code, 1, str(watched))
        cluster.finish("coordinator")
        later = harness.run("status", "--output", cluster.folder / "out")
        for shown in [watched.stdout, later.stdout]:
            self.assertIn("FAILED", shown)
            self.assertIn("server 0 has been missing for 15 s", shown)


class LostMemberTest(ClusterTest):
    """What the others do when a member is gone."""

    def test_who_has_joined_hears_who_has_not(self):
        cluster = self.cluster(LONG.replace("2000 }",
                                            "2000 join_timeout_s: 6 }"))
        cluster.start("coordinator", "coordinator", cluster.job, "--servers",
                      2, "--workers", 1, "--listen", cluster.address,
                      "--output", cluster.folder / "out")
        cluster.start("server0", "server", "--coordinator", cluster.address)
        self.assertEqual(cluster.finish("coordinator"), 3)
        self.assertEqual(cluster.finish("server0"), 1)
        self.assertIn("the job failed: server 1 has been missing for 6 s",
                      cluster.log("server0"))

    def test_a_worker_ends_with_the_job_when_a_server_stays_away(self):
        for seconds in [0, 1]:
            with self.subTest(seconds):
                cluster = self.cluster(IMPATIENT)
                cluster.start_all(servers=2)
                cluster.wait_for("worker0", "computes")
                time.sleep(seconds)
                cluster.members["server0"].kill()
                cluster.wait_for("coordinator", "failed after")
                began = time.monotonic()
                self.assertEqual(cluster.finish("worker0"), 1)
                self.assertLess(time.monotonic() - began, 6)
                last = cluster.log("worker0").splitlines()[-1]
                self.assertIn("the job failed: server 0 has been missing", last)
                self.assertNotIn("training goes on", cluster.log("worker0"))
                self.assertEqual(cluster.finish("coordinator"), 3)
                self.assertEqual(cluster.finish("server1"), 1)
                self.assertIn("the job failed: server 0",
                              cluster.log("server1"))

    def test_a_killed_worker_may_be_started_again(self):
        cluster = self.cluster(LONG.replace("100000", "3000"))
        harness.train(cluster.job, cluster.folder / "whole", "--centralised")
        cluster.start_all(workers=2)
        cluster.wait_for("coordinator", "loss")
        cluster.members["worker1"].kill()
        cluster.wait_for("coordinator", "worker 1 was not heard of")
        cluster.members["worker1"].wait()
        cluster.start_worker("worker1", 1, cluster.folder)
        for name in cluster.members:
            self.assertEqual(cluster.finish(name), 0, cluster.log(name))
        self.assertEqual(harness.digest(cluster.folder / "out"),
                         harness.digest(cluster.folder / "whole"))

    def test_a_worker_that_sees_other_samples_is_refused(self):
        cluster = self.cluster(LONG)
        other = harness.scratch("other-data")
        harness.write_job(other, harness.DATA, harness.MLP, harness.ADAM, LONG)
        labels = bytearray((other / "labels.idx").read_bytes())
        labels[-1] = (labels[-1] + 1) % 4
        (other / "labels.idx").write_bytes(labels)
        cluster.start_all(workers=2)
        cluster.wait_for("coordinator", "loss")
        cluster.members["worker1"].kill()
        cluster.start_worker("other", 1, other)
        self.assertEqual(cluster.finish("other"), 1, cluster.log("other"))
        self.assertIn("sees as many training samples as the job, but others",
                      cluster.log("other"))
        cluster.members["worker1"].wait()
        cluster.start_worker("worker1", 1, cluster.folder)
        cluster.wait_for("worker1", "joined")

    def test_a_worker_that_another_one_replaced_failed(self):
        cluster = self.cluster(LONG)
        cluster.start_all(workers=2)
        cluster.wait_for("coordinator", "loss")
        cluster.members["worker1"].send_signal(signal.SIGSTOP)
        cluster.wait_for("coordinator", "worker 1 was not heard of")
        cluster.start("other1", "worker", "--coordinator", cluster.address,
                      "--id", 1, "--data-folder", cluster.folder)
        cluster.wait_for("other1", "computes")
        cluster.members["worker1"].send_signal(signal.SIGCONT)
        self.assertEqual(cluster.finish("worker1"), 1, cluster.log("worker1"))
        self.assertNotIn("--data-folder", cluster.log("worker1"))

    def test_ctrl_c_ends_members_whose_coordinator_is_gone(self):
        cluster = self.cluster(LONG)
        cluster.start_all(servers=2)
        cluster.wait_for("coordinator", "loss")
        for name in ["coordinator", "server0"]:
            cluster.members[name].kill()
        cluster.wait_for("worker0", "has not answered")
        time.sleep(2)
        for name in ["worker0", "server1"]:
            began = time.monotonic()
            cluster.members[name].send_signal(signal.SIGINT)
            self.assertNotEqual(cluster.finish(name), 0, cluster.log(name))
            self.assertLess(time.monotonic() - began, 4, cluster.log(name))

    def test_ctrl_c_ends_a_worker_that_waits_for_its_shards(self):
        cluster = self.cluster(LONG)
        cluster.start_all(servers=2)
        cluster.members["server1"].kill()
        cluster.wait_for("worker0", "joined")
        cluster.members["coordinator"].kill()
        cluster.wait_for("worker0", "coordinator")
        time.sleep(1)
        began = time.monotonic()
        cluster.members["worker0"].send_signal(signal.SIGINT)
        self.assertNotEqual(cluster.finish("worker0"), 0)
        self.assertLess(time.monotonic() - began, 4, cluster.log("worker0"))


if __name__ == "__main__":
    unittest.main()
