"""Members that are killed while a job trains: it goes on, and ends with the
bits of a run that nobody disturbed.
"""

import json
import os
import random
import signal
import time
import unittest

import harness

TRAINING = ("training { batch_size: 48 steps: 3000 log_every_steps: 10 }\n"
            "checkpointing { every_steps: 50 }\n")
LONG = "training { batch_size: 48 steps: 200000 log_every_steps: 10 }\n"


def member_of(pid):
    """("server", 1) of a process of `selari train`."""
    with open(f"/proc/{pid}/cmdline", encoding="utf8") as file:
        words = file.read().split("\0")
    return words[1], int(words[words.index("--id") + 1])


def samples_of(summary):
    return sum(worker["samples"] for worker in summary["workers"])


class KillTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("kill")

    def job(self, *parts):
        return harness.write_job(self.folder, harness.DATA, *parts)

    def undisturbed(self, job):
        harness.train(job, self.folder / "central", "--centralised")
        return harness.digest(self.folder / "central")

    def train_under_fire(self, job, seed, *shape, kinds=("server", "worker")):
        """Kills a member after each checkpoint; their names. What the job
        said is in self.notes."""
        chance = random.Random(seed)
        process = harness.start("train", job, "--output",
                                self.folder / "out", "--json", *shape)
        killed = []
        self.notes = ""
        for line in process.stdout:
            if '"event":"note"' in line:
                self.notes += line
            if '"event":"checkpoint"' in line and len(killed) < 8:
                time.sleep(chance.random() * 0.1)
                try:
                    victim = chance.choice(harness.children_of(process.pid))
                    name = member_of(victim)
                    if name[0] not in kinds:
                        continue
                    os.kill(victim, signal.SIGKILL)
                    killed.append(name)
                except (OSError, ValueError, IndexError):
                    pass  # it has just ended, or just begun
            if '"event":"summary"' in line:
                summary = line
        result = harness.finish(process)
        self.assertEqual(result.code, 0, f"{killed}: {result}")
        self.assertGreater(len(killed), 2, summary)
        # One may have ended by itself just before it was killed.
        self.assertGreaterEqual(self.notes.count("was ended by signal 9"),
                                len(killed) - 1, self.notes)
        return killed

    def check_same_bits(self, model, optimizer, seed, *more):
        job = self.job(model, optimizer, TRAINING, *more)
        expected = self.undisturbed(job)
        killed = self.train_under_fire(job, seed, "--servers", 3, "--workers",
                                       3)
        self.assertEqual(harness.digest(self.folder / "out"), expected, killed)

    def test_nothing_goes_back_for_workers(self):
        for servers, workers, optimizer in [(2, 3, harness.ADAM),
                                            (1, 1, harness.SGD)]:
            with self.subTest(servers=servers, workers=workers):
                self.folder = harness.scratch("kill")
                job = self.job(harness.MLP, optimizer, TRAINING)
                expected = self.undisturbed(job)
                killed = self.train_under_fire(
                    job, workers, "--servers", servers, "--workers", workers,
                    kinds=["worker"])
                self.assertEqual(harness.digest(self.folder / "out"), expected,
                                 killed)
                self.assertIn("begins anew, at the step that the others are at",
                              self.notes)
                self.assertNotIn("goes back", self.notes)

    def test_any_member_with_adam_and_a_clipped_norm(self):
        self.check_same_bits(harness.MLP, harness.ADAM, 1)

    def test_any_member_with_large_chunks_in_shared_memory(self):
        wide = harness.MLP.replace("units: 24", "units: 200")
        self.check_same_bits(wide, harness.SGD, 2,
                             "cluster { shard_count: 4 }\n")

    def test_any_member_with_compressed_gradients(self):
        # What a worker held back goes with it; the checkpoint needs none of it.
        wide = harness.MLP.replace("units: 24", "units: 50")
        self.check_same_bits(wide, harness.SGD, 4,
                             "cluster { shard_count: 4 }\n"
                             "compression { codec { top_k { fraction: 0.05 } } "
                             "share_count: 3 reset_every_steps: 25 }\n")

    def test_what_was_done_before_a_loss_counts_as_its_seconds_do(self):
        job = self.job(harness.MLP, harness.SGD, TRAINING)
        undisturbed = harness.train(job, self.folder / "central",
                                    "--centralised").summary
        process = harness.start("train", job, "--output", self.folder / "out",
                                "--json", "--servers", 1, "--workers", 2)
        checkpoints = 0
        summary = {}
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "checkpoint":
                checkpoints += 1
                if checkpoints == 20:
                    servers = [pid for pid in harness.children_of(process.pid)
                               if member_of(pid)[0] == "server"]
                    os.kill(servers[0], signal.SIGKILL)
            if event["event"] == "summary":
                summary = event
        result = harness.finish(process)
        self.assertEqual(result.code, 0, str(result))
        samples = samples_of(summary)
        self.assertGreaterEqual(samples, samples_of(undisturbed), summary)
        self.assertGreater(summary["samples_per_second"],
                           0.9 * samples / summary["seconds"], summary)

    def test_async_goes_on_too(self):
        job = self.job(harness.MLP, harness.SGD,
                       TRAINING.replace("3000", "10000"),
                       "consistency { mode: CONSISTENCY_ASYNC }\n")
        self.train_under_fire(job, 3, "--servers", 2, "--workers", 2)

    def test_a_member_that_dies_at_once_again_and_again_ends_the_job(self):
        job = self.job(harness.MLP, harness.SGD, LONG)
        process = harness.start("train", job, "--output", self.folder / "out",
                                "--workers", 2, "--servers", 1, "--json")
        for line in process.stdout:
            if '"event":"progress"' in line:
                break
        dead = set()
        while process.poll() is None:
            for pid in harness.children_of(process.pid):
                try:
                    if pid not in dead and member_of(pid) == ("worker", 1):
                        os.kill(pid, signal.SIGKILL)
                        dead.add(pid)
                except (OSError, ValueError, IndexError):
                    pass
            time.sleep(0.01)
        result = harness.finish(process)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("worker-1 was ended by signal 9 (Killed)", result.stderr)

    def test_a_server_started_by_hand_may_be_started_again(self):
        job = self.job(harness.MLP, harness.ADAM, TRAINING,
                       "cluster { lease_ms: 1000 }\n")
        expected = self.undisturbed(job)
        address = f"127.0.0.1:{harness.free_port()}"
        member = ["--coordinator", address]
        coordinator = harness.start(
            "coordinator", job, "--servers", 2, "--workers", 1, "--listen",
            address, "--output", self.folder / "out", "--json")
        servers = [harness.start("server", *member, "--id", i)
                   for i in range(2)]
        worker = harness.start("worker", *member, "--data-folder", self.folder)
        for line in coordinator.stdout:
            if '"event":"checkpoint"' in line:
                break
        twin = harness.finish(harness.start("server", *member, "--id", 0))
        self.assertEqual(twin.code, 1, str(twin))
        self.assertIn("server 0 is there already at ", twin.stderr)
        servers[1].kill()
        harness.finish(servers[1])
        # At once: its lease has not ended yet.
        servers[1] = harness.start("server", *member, "--id", 1)
        for process in [coordinator, worker, *servers]:
            result = harness.finish(process)
            self.assertEqual(result.code, 0, str(result))
        self.assertEqual(harness.digest(self.folder / "out"), expected)


if __name__ == "__main__":
    unittest.main()
