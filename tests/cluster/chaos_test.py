"""`selari chaos`: a job through a minute of kills, with each durability."""

import json
import unittest

import harness

TRAINING = "training { batch_size: 48 steps: 2500 log_every_steps: 50 }\n"


class ChaosTest(unittest.TestCase):

    def chaos(self, *arguments, checkpointing="every_steps: 50"):
        folder = harness.scratch("chaos")
        job = harness.write_job(
            folder, harness.DATA, harness.MLP, harness.ADAM, TRAINING,
            f"checkpointing {{ {checkpointing} }}\n")
        result = harness.run("chaos", job, "--servers", 3, "--workers", 3,
                                "--output", folder / "out", "--json",
                                *arguments)
        events = [json.loads(line) for line in result.stdout.splitlines()]
        verdict = events[-1]
        self.assertEqual(verdict["event"], "verdict", result)
        return result, events, verdict

    def test_checkpointed(self):
        result, events, verdict = self.chaos(
            "--minutes", "0.25", "--every", "1.5", "--faults",
            "kill-server,kill-worker,pause-server,pause-worker")
        self.assertTrue(verdict["pass"], verdict)
        self.assertEqual(result.code, 0)
        self.assertTrue(verdict["same_digest"])
        self.assertGreaterEqual(sum(verdict["faults"].values()), 5, verdict)
        self.assertIsNone(verdict["ledger_lost"])
        faults = [e for e in events if e["event"] == "fault"]
        self.assertEqual(len(faults), sum(verdict["faults"].values()))

    def test_journaled(self):
        result, _, verdict = self.chaos(
            "--minutes", "0.6", "--every", "1.5", "--seed", 2, checkpointing=
            "every_steps: 200 durability: DURABILITY_JOURNALED")
        self.assertTrue(verdict["pass"], verdict)
        self.assertEqual(result.code, 0)
        self.assertTrue(verdict["same_digest"])
        self.assertGreaterEqual(verdict["kills"], 8, verdict)
        self.assertGreater(verdict["ledger_acknowledged"], 0)
        self.assertEqual(verdict["ledger_lost"], 0)
        self.assertEqual(verdict["ledger_doubled"], 0)

    def test_coordinator(self):
        result, _, verdict = self.chaos(
            "--minutes", "0.2", "--every", "4", "--faults", "kill-coordinator")
        self.assertTrue(verdict["pass"], verdict)
        self.assertGreaterEqual(verdict["faults"]["kill-coordinator"], 1)
        self.assertTrue(verdict["same_digest"])

    def test_says_what_cannot_be_rehearsed(self):
        folder = harness.scratch("chaos")
        job = harness.write_job(folder, harness.DATA, harness.MLP, harness.SGD,
                                TRAINING)
        result = harness.run("chaos", job, "--servers", 0, "--workers", 1)
        self.assertEqual(result.code, 2)
        self.assertIn("there is nobody to kill", result.stderr)
        full = folder / "full"
        full.mkdir()
        (full / "file").write_text("")
        result = harness.run("chaos", job, "--output", full)
        self.assertEqual(result.code, 2)
        self.assertIn("is not empty", result.stderr)
        result = harness.run("chaos", job, "--faults", "kill-all")
        self.assertEqual(result.code, 2)
        self.assertIn("kill-all", result.stderr)


if __name__ == "__main__":
    unittest.main()
