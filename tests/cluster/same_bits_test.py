"""The trained model is the same, bit for bit, on any cluster; and the check
that says so can fail.
"""

import csv
import unittest

import harness

# (servers, workers)
SHAPES = [(servers, workers) for servers in (1, 2, 3)
          for workers in (1, 2, 3, 5)]


class SameBitsTest(unittest.TestCase):

    def check(self, model, optimizer, shapes):
        folder = harness.scratch("same-bits")
        job = harness.write_job(folder, harness.DATA, model, optimizer,
                                harness.TRAINING)
        harness.train(job, folder / "central", "--centralised")
        expected = harness.digest(folder / "central")
        for servers, workers in shapes:
            output = folder / f"s{servers}w{workers}"
            result = harness.train(job, output, "--servers", servers,
                                   "--workers", workers)
            self.assertEqual(harness.digest(output), expected,
                             f"{servers} servers, {workers} workers")
            self.assertEqual(result.summary["digest"], expected)
        return folder, job, expected

    def test_mlp_with_sgd(self):
        self.check(harness.MLP, harness.SGD, SHAPES)

    def test_cnn_with_adam_and_a_clipped_norm(self):
        self.check(harness.CNN, harness.ADAM, SHAPES)

    def test_mlp_with_adam(self):
        self.check(harness.MLP, harness.ADAM, SHAPES)

    def test_cnn_with_sgd(self):
        self.check(harness.CNN, harness.SGD, SHAPES)

    def test_lamb_needs_two_rounds_of_sums(self):
        self.check(harness.MLP,
                   "optimizer { lamb {} learning_rate: 0.01 weight_decay: 0.01"
                   " clip_global_norm: 0.5 }", [(2, 3)])

    def test_shared_memory_and_messages_give_the_same_bits(self):
        # One shard, and so chunks that are worth sharing.
        wide = harness.MLP.replace("units: 24", "units: 200")
        one_shard = ("--set", "cluster.shard_count=1")
        folder = harness.scratch("shared-memory")
        job = harness.write_job(folder, harness.DATA, wide, harness.ADAM,
                                harness.TRAINING)
        harness.train(job, folder / "central", "--centralised", *one_shard)
        expected = harness.digest(folder / "central")
        for use, shared in [("AUTO", True), ("OFF", False)]:
            result = harness.train(
                job, folder / use, "--servers", 1, "--workers", 3, *one_shard,
                "--set", f"cluster.shared_memory=SHARED_MEMORY_USE_{use}")
            self.assertEqual(harness.digest(folder / use), expected, use)
            for worker in result.summary["workers"]:
                self.assertEqual(worker["bytes_shared"] > 0, shared, use)

    def test_another_seed_or_leaf_count_gives_other_bits(self):
        folder, job, expected = self.check(harness.MLP, harness.SGD, [])
        for i, change in enumerate(["seed=6", "training.leaf_count=7"]):
            output = folder / f"other{i}"
            harness.train(job, output, "--centralised", "--set", change)
            self.assertNotEqual(harness.digest(output), expected, change)

    def test_threads_and_shard_counts_of_one_job_do_not_matter(self):
        folder, job, expected = self.check(harness.CNN, harness.SGD, [])
        output = folder / "threads"
        harness.train(job, output, "--centralised", "--set",
                      "cluster.worker_threads=3", "--set",
                      "cluster.server_threads=1")
        self.assertEqual(harness.digest(output), expected)


class ResumeTest(unittest.TestCase):

    def test_a_stopped_run_goes_on_with_the_same_bits_on_another_cluster(self):
        for optimizer in [harness.SGD, harness.ADAM]:
            folder = harness.scratch("resume")
            job = harness.write_job(folder, harness.DATA, harness.MLP,
                                    optimizer, harness.TRAINING)
            harness.train(job, folder / "whole", "--servers", 2, "--workers", 2)
            # Step 10 of 7 steps an epoch: in mid-epoch.
            output = folder / "parts"
            harness.train(job, output, "--servers", 3, "--workers", 2,
                          "--steps", 10)
            harness.train(job, output, "--servers", 1, "--workers", 3,
                          "--steps", 17, "--resume")
            result = harness.train(job, output, "--centralised", "--resume")
            self.assertEqual(result.summary["steps"], 24)
            self.assertEqual(harness.digest(output),
                             harness.digest(folder / "whole"))


    def test_the_metrics_of_a_run_that_went_on_have_every_row_once(self):
        folder = harness.scratch("resume")
        job = harness.write_job(folder, harness.DATA, harness.MLP, harness.SGD,
                                harness.TRAINING)
        output = folder / "out"
        evaluate = ["--set", "training.evaluate_every_steps=10"]
        harness.train(job, output, "--centralised", "--steps", 10, *evaluate)
        harness.train(job, output, "--centralised", "--resume", *evaluate)
        with open(output / "metrics.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(r["step"]) for r in rows if r["loss"]],
                         [4, 8, 10, 12, 16, 20, 24])
        self.assertEqual([int(r["step"]) for r in rows if r["test_loss"]],
                         [10, 20, 24])

    def test_another_end_of_the_schedule_is_told_and_the_same_one_is_not(self):
        folder = harness.scratch("schedule")
        cosine = ("optimizer { sgd {} learning_rate: 0.05 "
                  "schedule { cosine {} } }\n")
        job = harness.write_job(folder, harness.DATA, harness.MLP, cosine,
                                harness.TRAINING)
        whole = folder / "whole"
        harness.train(job, whole, "--centralised")
        told = "total_steps: 12 -> 24, where optimizer.schedule ends"
        for end, same in [([], False),
                          (["--set", "optimizer.schedule.cosine.total_steps=24"],
                           True)]:
            output = folder / f"same-{same}"
            harness.train(job, output, "--centralised", "--steps", 12, *end)
            result = harness.train(job, output, "--centralised", "--resume",
                                   *end)
            self.assertEqual(harness.digest(output) == harness.digest(whole),
                             same, end)
            self.assertEqual(told not in result.stdout, same, str(result))


if __name__ == "__main__":
    unittest.main()
