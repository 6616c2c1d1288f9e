"""What journals cost, and how long a killed server keeps a job waiting.

    python3 tests/bench/durability.py path/to/selari [--repeats 5] [--steps 20]
        [--units 7600]

A multi-layer perceptron of about units² weights on Fashion-MNIST, one server
and one worker, SGD. Throughput with each durability, in turns, beside the rate
at which this disk takes bytes that are synced 16 MiB at a time; then the time
from the kill of the server to the next step.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

DATA = "/usr/share/datasets/fashion-mnist"
JOB = """
seed: 1
data {{ train {{ idx {{ features: "{data}/train-images-idx3-ubyte.gz"
                        labels: "{data}/train-labels-idx1-ubyte.gz" }} }}
        shift: 127.5 scale: 0.0078 }}
model {{ layers {{ flatten {{}} }}
  layers {{ dense {{ units: {units} }} }} layers {{ relu {{}} }}
  layers {{ dense {{ units: {units} }} }} layers {{ relu {{}} }}
  layers {{ dense {{ units: 10 }} }} loss: LOSS_SOFTMAX_CROSS_ENTROPY }}
optimizer {{ sgd {{}} learning_rate: 0.01 }}
training {{ batch_size: 16 steps: {steps} log_every_steps: 1 }}
cluster {{ servers: 1 workers: 1 }}
checkpointing {{ durability: DURABILITY_{durability} every_steps: {every} }}
"""


class Run:
    """One training run, its events with the time at which they came."""

    def __init__(self, arguments, durability, kill_at=None, every=0):
        self.folder = tempfile.TemporaryDirectory(dir=arguments.folder)
        job = pathlib.Path(self.folder.name) / "job.textproto"
        job.write_text(JOB.format(data=DATA, units=arguments.units,
                                  steps=arguments.steps, every=every,
                                  durability=durability))
        process = subprocess.Popen(
            [arguments.binary, "train", job, "--json", "--output",
             f"{self.folder.name}/out"], stdout=subprocess.PIPE, text=True)
        self.steps = []  # (seconds, step)
        self.killed = None
        for line in process.stdout:
            event = json.loads(line)
            now = time.monotonic()
            if event["event"] == "progress":
                self.steps.append((now, event["step"]))
                if self.killed is None and kill_at and (
                        event["step"] >= kill_at):
                    kill_server(process.pid)
                    self.killed = time.monotonic(), event["step"]
        if process.wait() != 0:
            raise SystemExit(f"train ended with {process.returncode}")
        self.folder.cleanup()

    def step_seconds(self):
        """Of the second half."""
        times = [at for at, _ in self.steps[len(self.steps) // 2:]]
        return (times[-1] - times[0]) / (len(times) - 1)

    def seconds_to_next_step(self):
        killed_at, step = self.killed
        return next(at for at, s in self.steps
                    if at > killed_at and s > step + 1) - killed_at


def kill_server(parent):
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            words = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if int(stat.rsplit(")", 1)[1].split()[1]) == parent and (
                words[1:2] == ["server"]):
            os.kill(int(entry.name), signal.SIGKILL)
            return
    raise SystemExit("there is no server to kill")


def disk_rate(folder, megabytes=512):
    """Bytes a second, synced 16 MiB at a time.

    As the journal does, what is on the disk is not kept in memory: else pages
    that the system must first find are a part of the time.
    """
    block = os.urandom(16 << 20)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        begin = time.monotonic()
        for _ in range(megabytes // 16):
            file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return megabytes * (1 << 20) / (time.monotonic() - begin)


def spread(values):
    return (f"{statistics.median(values):.3f} ({min(values):.3f} to "
            f"{max(values):.3f})")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--units", type=int, default=7600)
    parser.add_argument("--folder", help="on the disk to be measured")
    arguments = parser.parse_args()
    weights = (arguments.units + 796) * arguments.units + 10
    print(f"model: {4 * weights / 1e6:.0f} MB, {arguments.repeats} runs each")
    plain, journaled, disk, after_kill, back = [], [], [], [], []
    for _ in range(arguments.repeats):
        plain.append(Run(arguments, "CHECKPOINTED").step_seconds())
        journaled.append(Run(arguments, "JOURNALED").step_seconds())
        disk.append(disk_rate(arguments.folder))
        run = Run(arguments, "JOURNALED", kill_at=arguments.steps // 2)
        after_kill.append(run.seconds_to_next_step())
        run = Run(arguments, "CHECKPOINTED", kill_at=arguments.steps // 2,
                  every=arguments.steps // 4)
        back.append(run.seconds_to_next_step())
    print("seconds of a step, checkpointed:", spread(plain))
    print("seconds of a step, journaled:   ", spread(journaled))
    print("throughput, journaled / checkpointed:",
          spread([a / b for a, b in zip(plain, journaled)]))
    print("disk, GB/s, synced every 16 MiB:", spread([d / 1e9 for d in disk]))
    print("the least that the disk needs for a step, s:",
          spread([4 * weights / d for d in disk]))
    print("kill to the second step after, journaled, s:", spread(after_kill))
    print("kill to the second step after, checkpointed (with what is computed "
          "again), s:", spread(back))


if __name__ == "__main__":
    main()
