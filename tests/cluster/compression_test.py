"""Compressed gradients: the same bits wherever each worker holds whole shares,
fewer bytes, and runs that go on as if they had never stopped.
"""

import json
import signal
import unittest

import harness

CODECS = {
    "float16": "float16 {}",
    "bfloat16": "bfloat16 {}",
    "int8_block": "int8_block { block_size: 64 }",
    "top_k": "top_k { fraction: 0.05 }",
    "low_rank": "low_rank { rank: 2 }",
}
# Tensors of a size that is worth it, in chunks that begin in mid-row.
MODEL = harness.MLP.replace("units: 24", "units: 50")
CLUSTER = "cluster { shard_count: 3 }\n"


def compression(codec, reset=6):
    return (f"compression {{ codec {{ {codec} }} share_count: 4 "
            f"reset_every_steps: {reset} }}\n")


class CompressionTest(unittest.TestCase):

    def job(self, folder, codec, training=harness.TRAINING,
            optimizer=harness.SGD):
        return harness.write_job(folder, harness.DATA, MODEL, optimizer,
                                 training, CLUSTER, compression(codec))

    def test_same_bits_centralised_and_on_each_cluster_of_whole_shares(self):
        for name, codec in CODECS.items():
            folder = harness.scratch(name)
            job = self.job(folder, codec)
            harness.train(job, folder / "central", "--centralised")
            expected = harness.digest(folder / "central")
            for servers, workers in [(1, 1), (2, 2), (1, 4)]:
                output = folder / f"s{servers}w{workers}"
                harness.train(job, output, "--servers", servers, "--workers",
                              workers)
                self.assertEqual(harness.digest(output), expected,
                                 f"{name}: {servers} servers, {workers}")
            harness.train(job, folder / "plain", "--centralised", "--set",
                          "compression={}")
            self.assertNotEqual(harness.digest(folder / "plain"), expected,
                                f"{name} changes nothing")

    def test_a_clipped_norm_and_lamb_work_on_what_was_sent(self):
        for optimizer in [harness.ADAM,
                          "optimizer { lamb {} learning_rate: 0.01 }\n"]:
            folder = harness.scratch("norm")
            job = self.job(folder, CODECS["int8_block"], optimizer=optimizer)
            harness.train(job, folder / "central", "--centralised")
            harness.train(job, folder / "s2w2", "--servers", 2, "--workers", 2)
            self.assertEqual(harness.digest(folder / "s2w2"),
                             harness.digest(folder / "central"))

    def test_fewer_bytes_are_pushed(self):
        folder = harness.scratch("bytes")
        job = self.job(folder, CODECS["int8_block"])
        pushed = {}
        for reset in [1, 24]:
            result = harness.train(
                job, folder / f"reset{reset}", "--servers", 1, "--workers", 4,
                "--set", f"compression.reset_every_steps={reset}", "--set",
                "cluster.shared_memory=SHARED_MEMORY_USE_OFF")
            pushed[reset] = sum(worker["bytes_pushed"]
                                for worker in result.summary["workers"])
        self.assertLess(pushed[24], 0.5 * pushed[1], pushed)

    def test_bounded_and_async_learn_too(self):
        for mode in ["BOUNDED", "ASYNC"]:
            folder = harness.scratch(mode)
            job = self.job(folder, CODECS["top_k"])
            result = harness.train(job, folder / "out", "--servers", 1,
                                   "--workers", 2, "--set",
                                   f"consistency.mode={mode}", "--set",
                                   "training.steps=100")
            self.assertEqual(result.summary["steps"], 100)
            self.assertGreater(result.summary["test_accuracy"], 0.8,
                               str(result))

    def test_what_cannot_be_is_told_by_its_field(self):
        folder = harness.scratch("bad")
        job = self.job(folder, CODECS["float16"])
        for change, message in [
            ("compression.share_count=1",
             "compression.share_count is 1, but worker 0 of cluster.workers 2"),
            ("checkpointing.every_steps=10",
             "checkpointing.every_steps is 10 but compression.reset_every_"),
            ("compression.codec={}", "compression.codec has no kind"),
            ("compression.rules={tensors: \"conv*\"}",
             "compression.rules[0].tensors is \"conv*\", which fits no tensor"),
        ]:
            result = harness.run("train", job, "--output", folder / "out",
                                 "--servers", 1, "--workers", 2, "--set",
                                 change)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn(message, result.stderr)


class ResumeTest(unittest.TestCase):

    def test_a_run_that_went_on_elsewhere_has_the_bits_of_one_that_did_not(
            self):
        for name, codec in CODECS.items():
            folder = harness.scratch(name)
            job = harness.write_job(folder, harness.DATA, MODEL, harness.SGD,
                                    harness.TRAINING, CLUSTER,
                                    compression(codec))
            harness.train(job, folder / "whole", "--servers", 1, "--workers", 2)
            output = folder / "parts"
            harness.train(job, output, "--servers", 1, "--workers", 2,
                          "--steps", 12)
            harness.train(job, output, "--servers", 2, "--workers", 4,
                          "--resume")
            self.assertEqual(harness.digest(output),
                             harness.digest(folder / "whole"), name)

    def test_a_stop_waits_for_a_step_at_which_nothing_is_held_back(self):
        folder = harness.scratch("stop")
        long = "training { batch_size: 48 steps: 20000 log_every_steps: 10 }\n"
        job = harness.write_job(folder, harness.DATA, MODEL, harness.SGD, long,
                                CLUSTER, compression(CODECS["top_k"], reset=7))
        output = folder / "out"
        process = harness.start("train", job, "--output", output, "--json",
                                "--servers", 1, "--workers", 2)
        for line in process.stdout:
            if json.loads(line)["event"] == "progress":
                break
        process.send_signal(signal.SIGINT)
        result = harness.finish(process)
        self.assertEqual(result.code, 128 + signal.SIGINT, str(result))
        self.assertEqual(result.summary["state"], "stopped")
        step = result.summary["steps"]
        self.assertEqual(step % 7, 0)
        self.assertLess(step, 20000)
        end = step + 28
        harness.train(job, output, "--servers", 1, "--workers", 2, "--resume",
                      "--steps", end)
        harness.train(job, folder / "whole", "--centralised", "--steps", end)
        self.assertEqual(harness.digest(output),
                         harness.digest(folder / "whole"))


if __name__ == "__main__":
    unittest.main()
