"""Going on from a checkpoint, and reading one: what does not fit or is damaged is
refused in one sentence, and nobody gets an older one unawares.
"""

import shutil
import unittest

import harness

JOB = (harness.DATA, harness.MLP, harness.SGD, harness.TRAINING)


class ResumeTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("resume")
        self.job = harness.write_job(self.folder, *JOB)

    def refused(self, parts, *arguments):
        """Runs `train`; it must fail with all `parts` in one sentence."""
        result = harness.run("train", self.job, "--output", self.folder / "out",
                             "--centralised", *arguments)
        self.assertEqual(result.code, 2, str(result))
        self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_adam_slots_come_to_any_number_of_servers(self):
        job = harness.write_job(
            self.folder, harness.DATA, harness.CNN, harness.ADAM,
            "training { batch_size: 48 steps: 24 }\n"
            "cluster { shard_count: 11 }\n")
        harness.train(job, self.folder / "whole", "--servers", 3, "--workers",
                      2)
        expected = harness.digest(self.folder / "whole")
        half = self.folder / "half"
        harness.train(job, half, "--servers", 3, "--workers", 2, "--steps", 13)
        saved = harness.digest(half)
        for servers in [1, 2, 5, 7]:  # none divides 11 shards but 1
            with self.subTest(servers=servers):
                output = self.folder / f"on-{servers}"
                shutil.copytree(half, output)
                self.assertEqual(harness.digest(output), saved)
                harness.train(job, output, "--servers", servers, "--workers",
                              3, "--resume")
                self.assertEqual(harness.digest(output), expected)

    def test_resume_without_a_checkpoint(self):
        (self.folder / "out").mkdir()
        self.refused(["checkpoint", "leave out --resume"], "--resume")

    def test_resume_of_another_model(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        for change, field, was, now in [
                ("model.layers[0].dense.units=25", "model.layers[0].dense.units",
                 24, 25),
                ("data.standardize=true", "data.standardize", "false", "true"),
                ("seed=6", "seed", 5, 6),
                ("training.leaf_count=4", "training.leaf_count", 8, 4),
                ("optimizer.adam={}", "optimizer.algorithm", "sgd", "adam"),
                ("optimizer.sgd.momentum=0", "optimizer.sgd.momentum", 0.9, 0),
                ("consistency.mode=async", "consistency.mode",
                 "CONSISTENCY_SYNC", "CONSISTENCY_ASYNC")]:
            with self.subTest(change):
                self.refused([f"{field} is {was} in the checkpoint and {now} in "
                              "the job", "step-000000024", "another --output"],
                             "--resume", "--steps", 30, "--set", change)

    def test_resume_with_another_loss(self):
        harness.write_images(self.folder, 300, classes=2)
        self.job.write_text(self.job.read_text().replace(
            "units: 4", "units: 1").replace("SOFTMAX_CROSS_ENTROPY",
                                            "MEAN_SQUARED_ERROR"))
        harness.train(self.job, self.folder / "out", "--centralised")
        self.refused(["model.loss is LOSS_MEAN_SQUARED_ERROR",
                      "LOSS_LOGISTIC in the job",
                      "--set model.loss=LOSS_MEAN_SQUARED_ERROR"],
                     "--resume", "--steps", 30, "--set", "model.loss=logistic")

    def test_resume_with_another_learning_rate_is_told_once(self):
        harness.train(self.job, self.folder / "out", "--centralised")
        result = harness.train(self.job, self.folder / "out", "--resume",
                               "--steps", 30, "--set",
                               "optimizer.learning_rate=0.01")
        self.assertEqual(
            result.stdout.count("optimizer.learning_rate: 0.05 -> 0.01"), 1,
            str(result))

    def test_a_damaged_checkpoint_is_passed_over_or_refused(self):
        output = self.folder / "out"
        harness.train(self.job, output, "--centralised", "--set",
                      "checkpointing.every_steps=12")
        checkpoints = sorted((output / "checkpoints").iterdir())
        self.assertEqual(len(checkpoints), 2, checkpoints)
        shard = checkpoints[-1] / "shard-00003.safetensors"
        damaged = bytearray(shard.read_bytes())
        damaged[-1] ^= 1
        shard.write_bytes(damaged)
        result = harness.run("checkpoint", "verify", checkpoints[-1])
        self.assertEqual(result.code, 4, str(result))
        self.assertIn("shard-00003.safetensors", result.stderr)
        self.assertEqual(result.stdout, "")
        model = self.folder / "model.npz"
        for command in [["digest", output], ["digest", checkpoints[-1]],
                        ["checkpoint", "verify", output],
                        ["export", output, "--output", model]]:
            result = harness.run(*command)
            self.assertEqual(result.code, 4, str(result))
            self.assertIn("shard-00003.safetensors", result.stderr)
            self.assertEqual(result.stdout, "")
            if command[0] != "checkpoint" and command[1] == output:
                self.assertIn("of step 24, cannot be used", result.stderr)
                self.assertIn(f"to use that of step 12, name {checkpoints[0]}",
                              result.stderr)
        self.assertFalse(model.exists())
        # The way out that it names, and the step that it tells.
        result = harness.run("digest", checkpoints[0])
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.stderr, f"selari: step 12, {checkpoints[0]}\n")
        # Training goes on from the older one, and says so.
        result = harness.train(self.job, output, "--centralised", "--resume")
        self.assertIn("goes on from step 12, not from step 24", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("step 24,", harness.run("digest", output).stderr)

    def test_a_checkpoint_without_its_manifest_or_under_another_name(self):
        output = self.folder / "out"
        harness.train(self.job, output, "--centralised")
        checkpoint = output / "checkpoints" / "step-000000024"
        renamed = checkpoint.with_name("step-000000099")
        checkpoint.rename(renamed)
        self.damaged(output, renamed, ["of step 24", "of step 99"])
        manifest = renamed / "MANIFEST.textproto"
        text = manifest.read_text()
        for change, part in [
                (lambda: manifest.write_text(""), "cut off"),
                (lambda: manifest.write_text(text[:-20] + "\n"), "cut off"),
                (lambda: manifest.write_text(text.replace(
                    "step: 24", "step: 99")), "edited by hand"),
                (manifest.unlink, "MANIFEST.textproto"),
                (manifest.mkdir, "MANIFEST.textproto")]:
            change()
            self.damaged(output, renamed, [part])

    def damaged(self, output, checkpoint, parts):
        """Every command that reads its only checkpoint must say so."""
        for command in [["digest", output], ["digest", checkpoint],
                        ["checkpoint", "verify", output],
                        ["checkpoint", "verify", checkpoint],
                        ["export", output, "--output", output / "model.npz"],
                        ["train", self.job, "--output", output, "--resume"]]:
            result = harness.run(*command)
            self.assertEqual(result.code, 4, str(result))
            for part in parts:
                self.assertIn(part, result.stderr)


if __name__ == "__main__":
    unittest.main()
