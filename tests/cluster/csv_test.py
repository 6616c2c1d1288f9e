"""The example with a CSV file: it learns, and its export holds all that a
program of the user's own needs to apply it.
"""

import pathlib
import subprocess
import sys
import unittest

import harness

EXAMPLE = pathlib.Path("examples/csv")


class CsvTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.output = harness.scratch("csv") / "out"
        cls.summary = harness.train(EXAMPLE / "job.textproto", cls.output,
                                    "--centralised").summary

    def test_it_learns(self):
        self.assertGreater(self.summary["test_accuracy"], 0.7)
        self.assertGreater(self.summary["test_auc"], 0.8)

    def test_the_export_gives_the_test_accuracy_outside_of_selari(self):
        for name in ["model.safetensors", "model.npz"]:
            model = self.output / name
            result = harness.run("export", self.output, "--output", model)
            self.assertEqual(result.code, 0, str(result))
            shown = subprocess.run(
                [sys.executable, EXAMPLE / "predict.py", model,
                 EXAMPLE / "test.csv"], check=True, capture_output=True,
                text=True).stdout
            self.assertIn(f"accuracy {self.summary['test_accuracy']:.4f}",
                          shown)

    def test_the_cluster_of_the_job_has_the_same_bits(self):
        output = harness.scratch("csv") / "out"
        result = harness.train(EXAMPLE / "job.textproto", output)
        self.assertEqual(result.summary["digest"], self.summary["digest"])


if __name__ == "__main__":
    unittest.main()
