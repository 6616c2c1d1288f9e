"""Reads our files with the libraries of those formats' own communities."""

import csv
import hashlib
import json
import os
import struct
import subprocess
import sys
import unittest
import zipfile

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file
from tensorboard.backend.event_processing import event_accumulator

FOLDER = os.path.join(os.environ["TEST_TMPDIR"], "formats")
CHECKPOINT = os.path.join(FOLDER, "checkpoints", "step-000000007")
TENSORS = {"dense1/w": (40, 30), "dense1/b": (30,), "scale": ()}


def path(name):
    return os.path.join(FOLDER, name)


def expected(tensor, array):
    """ExampleValue of server/checkpoint/checkpoint_fixture.cc."""
    shape = list(TENSORS.values())[tensor]
    count = int(np.prod(shape))
    values = (np.arange(count) + 2000 * (10 * array + tensor)) / 8
    return values.astype(np.float32).reshape(shape)


def rising(begin, count, dtype, shape):
    data = bytes(range(begin, begin + count))
    return np.frombuffer(data, dtype).reshape(shape)


class ModelTest(unittest.TestCase):
    """Exports hold every tensor whole, under its own name."""

    def check(self, arrays):
        names = [n + s for n in TENSORS for s in ("", "/slot0", "/slot1")]
        self.assertEqual(sorted(arrays), sorted(names))
        for tensor, name in enumerate(TENSORS):
            for array, suffix in enumerate(("", "/slot0", "/slot1")):
                values = arrays[name + suffix]
                self.assertEqual(values.dtype, np.float32)
                np.testing.assert_array_equal(values, expected(tensor, array))

    def test_safetensors(self):
        self.check(load_file(path("model.safetensors")))
        with safe_open(path("model.safetensors"), "numpy") as file:
            self.assertEqual(file.metadata()["selari.step"], "7")

    def test_npz(self):
        with np.load(path("model.npz"), allow_pickle=False) as arrays:
            self.check(dict(arrays))

    def test_npz_is_a_sound_zip(self):
        with zipfile.ZipFile(path("model.npz")) as file:
            self.assertIsNone(file.testzip())


class CheckpointTest(unittest.TestCase):
    """Each shard's file, and the digest, as a stranger would work them out."""

    def chunks(self):
        """{(tensor, offset): (weights, slots)} of all files."""
        found = {}
        for shard in range(3):
            name = os.path.join(CHECKPOINT, f"shard-{shard:05d}.safetensors")
            with safe_open(name, "numpy") as file:
                metadata = file.metadata()
                self.assertEqual(metadata["selari.format"], "shard 1")
                self.assertEqual(metadata["selari.shard"], str(shard))
                for row in json.loads(metadata["selari.chunks"]):
                    chunk, tensor, offset, version = row
                    self.assertEqual(version, 7)
                    key = f"{list(TENSORS)[tensor]}/chunk-{chunk:08d}"
                    found[tensor, offset] = (
                        file.get_tensor(key),
                        file.get_tensor(key + "/slots"),
                    )
        return found

    def test_digest_is_as_documented(self):
        digest = hashlib.sha256(struct.pack("<qqq", 7, 2, len(TENSORS)))
        chunks = self.chunks()
        for tensor, (name, shape) in enumerate(TENSORS.items()):
            digest.update(struct.pack("<q", len(name)) + name.encode())
            digest.update(struct.pack(f"<{1 + len(shape)}q", len(shape), *shape))
            own = [chunks[key] for key in sorted(chunks) if key[0] == tensor]
            digest.update(np.concatenate([w for w, _ in own]).tobytes())
            for slot in range(2):
                digest.update(np.concatenate([s[slot] for _, s in own]).tobytes())
        with open(os.path.join(CHECKPOINT, "MANIFEST.textproto")) as file:
            self.assertIn(f'state_digest: "{digest.hexdigest()}"', file.read())

    def test_manifest_checksum_is_its_last_line(self):
        with open(os.path.join(CHECKPOINT, "MANIFEST.textproto"), "rb") as file:
            body, line = file.read().rsplit(b"# sha256: ", 1)
        self.assertEqual(line.decode(), hashlib.sha256(body).hexdigest() + "\n")


class TypesTest(unittest.TestCase):
    """Every kind of tensor that the writers know."""

    def check(self, arrays):
        np.testing.assert_array_equal(
            arrays["f64"], rising(0, 16, "<f8", (1, 2)))
        np.testing.assert_array_equal(arrays["i64"], rising(16, 8, "<i8", ()))
        np.testing.assert_array_equal(arrays["f16"], rising(24, 6, "<f2", (3,)))
        self.assertEqual(arrays["none"].shape, (0, 4))
        self.assertEqual(arrays["bool"].dtype, np.bool_)

    def test_safetensors(self):
        arrays = load_file(path("types.safetensors"))
        self.check(arrays)
        self.assertEqual(arrays['odd "name"\\'].tolist(), [32])
        with safe_open(path("types.safetensors"), "numpy") as file:
            self.assertEqual(file.metadata(), {"key": 'a "value"'})

    def test_npz(self):
        with np.load(path("types.npz"), allow_pickle=False) as arrays:
            self.check(arrays)


class MetricsTest(unittest.TestCase):
    def test_tensorboard_shows_both_runs_as_one(self):
        events = event_accumulator.EventAccumulator(path("tensorboard"))
        events.Reload()
        self.assertEqual(
            sorted(events.Tags()["scalars"]), ["test/accuracy", "train/loss"])
        points = events.Scalars("train/loss")
        self.assertEqual([p.step for p in points], list(range(0, 150, 10)))
        for point in points:
            start = 50 if point.step >= 50 else 0
            self.assertAlmostEqual(
                point.value, 1 / (1 + point.step + start), places=6)
            self.assertAlmostEqual(
                point.wall_time, 1000 + start + point.step / 1000)

    def test_csv(self):
        with open(path("metrics.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(r["step"]) for r in rows], list(range(0, 150, 10)))
        self.assertEqual(float(rows[3]["train_loss"]), 1 / 31)
        self.assertEqual(rows[3]["test_accuracy"], "")


if __name__ == "__main__":
    subprocess.run([sys.argv.pop(1), FOLDER], check=True)
    unittest.main()
