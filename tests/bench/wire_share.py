"""How much of a training step one worker and one server spend on the wire,
beside the least that their bytes can take on this machine.

    python3 tests/bench/wire_share.py path/to/selari [--repeats 5] [--steps 600]
        [--jobs path ...]

The time on the wire is what the worker waits for weights or for room to push;
transfers that the computation hides cost nothing. The least is the bytes of a
step by the rate of `selari bench wire` for both directions at once, measured in
turns with the runs.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "fashion_mnist"


def last_line(command):
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def train(binary, job, steps):
    """Seconds of a step: in all, and waiting; its bytes both ways."""
    with tempfile.TemporaryDirectory() as folder:
        summary = last_line(
            [binary, "train", job, "--json", "--output", folder, "--servers",
             "1", "--workers", "1", "--steps", str(steps), "--set",
             "cluster.worker_threads=1", "--set",
             "training.evaluate_every_steps=0", "--set",
             "checkpointing.every_steps=0"])
    worker = summary["workers"][0]
    wait = worker["pull_wait_seconds"] + worker["push_wait_seconds"]
    moved = worker["bytes_pushed"] + worker["bytes_pulled"]
    return [(worker["compute_seconds"] + wait) / steps, wait / steps,
            moved / steps]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--jobs", nargs="*", default=[
        EXAMPLES / "job.textproto", EXAMPLES / "cnn.textproto"])
    arguments = parser.parse_args()
    for job in map(str, arguments.jobs):
        runs, rates = [], []
        for _ in range(arguments.repeats):
            runs.append(train(arguments.binary, job, arguments.steps))
            wire = last_line([arguments.binary, "bench", "wire", "--json",
                              "--megabytes", "4", "--steps", "0"])
            rates.append(wire["both"]["bytes_per_second"])
        step, wait, moved = map(statistics.median, zip(*runs))
        least = moved / statistics.median(rates)
        print(f"{job}: a step {step * 1e6:.0f} us, of it waiting "
              f"{wait * 1e6:.0f} us (from {min(r[1] for r in runs) * 1e6:.0f} "
              f"to {max(r[1] for r in runs) * 1e6:.0f}); {moved / 1e6:.2f} MB "
              f"at {moved / least / 1e9:.2f} GB/s take {least * 1e6:.0f} us: "
              f"{wait / least:.2f} times the least")


if __name__ == "__main__":
    main()
