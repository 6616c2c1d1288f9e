"""Applies an exported logistic regression to a CSV file.

    ./selari export runs/csv --output runs/csv.safetensors
    python examples/csv/predict.py runs/csv.safetensors examples/csv/test.csv

Takes .npz as well. Needs `pip install numpy safetensors`.
"""

import csv
import json
import sys

import numpy as np
from safetensors import safe_open


def load(path):
    """The arrays of an export, and the names of its features."""
    if path.endswith(".npz"):
        with np.load(path) as file:
            arrays = dict(file)
        return arrays, json.loads(arrays["data/feature_names"].tobytes())
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}
        return arrays, json.loads(file.metadata()["selari.feature_names"])


model, names = load(sys.argv[1])
with open(sys.argv[2], newline="") as file:
    rows = list(csv.DictReader(file))
raw = np.array([[float(row[name]) for name in names] for row in rows])
features = (raw - model["data/shift"]) * model["data/scale"]
logits = features @ model["dense1/weight"] + model["dense1/bias"]
probabilities = 1 / (1 + np.exp(-logits[:, 0]))
labels = np.array([int(row["buys"]) for row in rows])
print(f"accuracy {np.mean((probabilities > 0.5) == labels):.4f}, "
      f"first probability {probabilities[0]:.4f}")
