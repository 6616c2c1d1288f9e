"""The example jobs on the real images: their published accuracy in the whole
job, and what a run leaves in its output folder.
"""

import csv
import pathlib
import unittest

import harness

EXAMPLES = pathlib.Path("examples/fashion_mnist")
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


@unittest.skipUnless(DATA.exists(), "dataset-fashion-mnist is not installed")
class FashionMnistTest(unittest.TestCase):

    def test_the_perceptron_reaches_its_accuracy_on_two_servers(self):
        output = harness.scratch("mlp") / "out"
        result = harness.train(EXAMPLES / "job.textproto", output)
        self.assertGreaterEqual(result.summary["test_accuracy"], 0.885)
        self.assertEqual(harness.digest(output), result.summary["digest"])
        with open(output / "metrics.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertGreater(len(rows), 40)
        self.assertTrue(list(output.rglob("events.out.tfevents.*")))
        for i in range(2):
            self.assertTrue((output / "logs" / f"server-{i}.log").exists())
            self.assertTrue((output / "logs" / f"worker-{i}.log").exists())
        self.assertEqual(
            {e["event"] for e in result.events} & {
                "start", "progress", "evaluation", "checkpoint", "summary"},
            {"start", "progress", "evaluation", "checkpoint", "summary"})

    def test_the_convolutional_network_learns_from_its_first_steps(self):
        # The whole job takes minutes: its accuracy is in README, checked by
        # `./selari train examples/fashion_mnist/cnn.textproto`.
        output = harness.scratch("cnn") / "out"
        result = harness.train(EXAMPLES / "cnn.textproto", output, "--steps",
                               60)
        self.assertGreaterEqual(result.summary["test_accuracy"], 0.7)

    def test_both_models_have_the_same_bits_in_one_process(self):
        for name, steps in [("job", 40), ("cnn", 6)]:
            folder = harness.scratch(name)
            digests = set()
            for i, shape in enumerate([["--centralised"],
                                       ["--servers", 3, "--workers", 5]]):
                harness.train(EXAMPLES / f"{name}.textproto",
                              folder / str(i), "--steps", steps, *shape)
                digests.add(harness.digest(folder / str(i)))
            self.assertEqual(len(digests), 1, name)


if __name__ == "__main__":
    unittest.main()
