"""Samples per second of Selari, centralised and distributed, against PyTorch,
eager and compiled, on the same model, batch, data and cores, in alternation.

    python tests/bench/compare_pytorch.py path/to/selari [--repeats 5]
        [--steps 1500] [--threads 2]

Needs the packages torch and numpy and Debian's dataset-fashion-mnist and
python3-dev (torch.compile includes its headers). Prints one row for each model
and way, with the median, the spread and the ratio of medians to PyTorch's
eager mode. Runs are interleaved, since machines drift.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")

# Weights of each model. A step cannot move less than every weight once to and
# once from each worker, 4 bytes each.
WEIGHTS = {"job": 235146, "cnn": 207178}


def run_selari(binary, job, steps, shape):
    """One run; its samples/s over the training alone, and its summary."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "train", str(job), "--json", "--output", folder,
                   "--steps", str(steps), "--set",
                   "training.evaluate_every_steps=0", "--set",
                   "checkpointing.every_steps=0", *shape]
        result = subprocess.run(command, capture_output=True, text=True,
                                check=True)
    summary = json.loads(result.stdout.splitlines()[-1])
    workers = summary["workers"]
    # Wall time of the training loop: the slowest worker's. Joining, loading,
    # the evaluation and the checkpoint are left out, as for PyTorch.
    seconds = max(w["compute_seconds"] + w["pull_wait_seconds"]
                  + w["push_wait_seconds"] for w in workers)
    samples = sum(w["samples"] for w in workers)
    summary["bytes_per_step"] = (
        sum(w["bytes_pushed"] + w["bytes_pulled"] for w in workers) / steps)
    return samples / seconds, summary


def load_train():
    import numpy as np
    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16)
    with gzip.open(DATA / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    x = (x.reshape(-1, 1, 28, 28).astype("float32") - 127.5) / 127.5
    return x, y.astype("int64")


def make_model(name):
    from torch import nn
    if name == "job":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(),
                             nn.Linear(256, 128), nn.ReLU(),
                             nn.Linear(128, 10))
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(1568, 128), nn.ReLU(),
        nn.LayerNorm(128), nn.Linear(128, 10))


def run_pytorch(name, steps, threads, compiled, batch=128):
    """One run of the same training, data already in memory."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x, y = (torch.from_numpy(a) for a in load_train())
    model = make_model(name)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    cross_entropy = torch.nn.CrossEntropyLoss()

    def loss_of(inputs, labels):
        return cross_entropy(model(inputs), labels)

    if compiled:  # the loss too, so that it is fused with the last layer
        loss_of = torch.compile(loss_of)
    order = torch.randperm(len(x))
    done = 0
    start = None
    for step in range(steps + 20):
        if step == 20:  # past the warm-up
            start = time.perf_counter()
            done = 0
        first = step * batch % (len(x) - batch)
        rows = order[first:first + batch]
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x[rows], y[rows])
        loss.backward()
        optimizer.step()
        done += batch
    return done / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--models", nargs="*", default=["job", "cnn"])
    parser.add_argument("--pytorch", help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true",
                        help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pytorch:  # a fresh process for each run
        print(run_pytorch(arguments.pytorch, arguments.steps,
                          arguments.threads, arguments.compiled))
        return
    for name in arguments.models:
        compare(name, arguments)


def compare(name, arguments):
    job = ROOT / "examples" / "fashion_mnist" / f"{name}.textproto"
    steps = arguments.steps if name == "job" else arguments.steps // 5
    shapes = {
        "centralised": ["--centralised"],
        "1 server, 1 worker": ["--servers", "1", "--workers", "1"],
        "2 servers, 2 workers": ["--servers", "2", "--workers", "2"],
    }
    pytorch = {"PyTorch eager": [], "PyTorch compiled": ["--compiled"]}
    rates = {way: [] for way in [*pytorch, *shapes]}
    wire = {}
    for repeat in range(arguments.repeats):
        print(f"{name}: run {repeat + 1} of {arguments.repeats}",
              file=sys.stderr, flush=True)
        for way, flags in pytorch.items():
            output = subprocess.run(
                [sys.executable, __file__, arguments.binary, "--pytorch", name,
                 "--steps", str(steps), "--threads", str(arguments.threads),
                 *flags], stdout=subprocess.PIPE, text=True, check=True).stdout
            rates[way].append(float(output))
        for way, shape in shapes.items():
            rate, summary = run_selari(arguments.binary, job, steps, shape)
            rates[way].append(rate)
            wire[way] = summary["bytes_per_step"]
    base = statistics.median(rates["PyTorch eager"])
    print(f"\n{name}: {steps} steps, {arguments.repeats} runs of each")
    print(f"{'':24}{'samples/s':>12}{'min':>10}{'max':>10}{'ratio':>8}"
          f"{'bytes/step':>12}{'of minimum':>12}")
    for way, values in rates.items():
        median = statistics.median(values)
        workers = 2 if "2 workers" in way else 1
        least = 2 * 4 * WEIGHTS[name] * workers
        moved = wire.get(way, 0)
        print(f"{way:24}{median:12.0f}{min(values):10.0f}{max(values):10.0f}"
              f"{median / base:8.2f}{moved:12.0f}{moved / least:12.4f}")


if __name__ == "__main__":
    main()
