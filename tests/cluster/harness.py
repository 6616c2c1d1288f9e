"""What the cluster tests share: running the real binary, small data sets
written as IDX files, and jobs over them. Standard library only.
"""

import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BINARY = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
# A command that takes longer hangs. Under a sanitizer all is several times
# slower, most of all under ThreadSanitizer.
TIMEOUT_S = 240 * {"address": 3, "undefined": 3, "thread": 8}.get(
    os.environ.get("SELARI_SANITIZER"), 1)


def scratch(name):
    """A new folder of the test's own."""
    root = os.environ.get("TEST_TMPDIR")
    return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=root))


def write_idx(path, shape, values, kind=0x08):
    """Writes unsigned bytes as an IDX file."""
    header = struct.pack(">HBB", 0, kind, len(shape))
    header += b"".join(struct.pack(">I", extent) for extent in shape)
    pathlib.Path(path).write_bytes(header + bytes(values))


def write_images(folder, samples, side=8, classes=4, seed=7):
    """A learnable set: the class is the bright quarter of the image."""
    rng = random.Random(seed)
    pixels, labels = [], []
    for _ in range(samples):
        label = rng.randrange(classes)
        labels.append(label)
        for y in range(side):
            for x in range(side):
                quarter = 2 * (y >= side // 2) + (x >= side // 2)
                base = 150 if quarter == label % 4 else 40
                pixels.append(max(0, min(255, base + rng.randrange(-40, 41))))
    write_idx(folder / "images.idx", [samples, side, side], pixels)
    write_idx(folder / "labels.idx", [samples], labels)


DATA = """
data {
  train { idx { features: "images.idx" labels: "labels.idx" } }
  test { idx { features: "images.idx" labels: "labels.idx" } }
  shift: 127.5 scale: 0.0078 feature_shape: [8, 8, 1]
}
"""
MLP = """
model {
  layers { dense { units: 24 } } layers { relu {} }
  layers { dropout { rate: 0.1 } }
  layers { dense { units: 4 } }
  loss: LOSS_SOFTMAX_CROSS_ENTROPY
}
"""
CNN = """
model {
  layers { conv2d { filters: 4 kernel_size: 3 same_padding: true } }
  layers { relu {} } layers { max_pool2d { window: 2 } }
  layers { flatten {} } layers { layer_norm {} }
  layers { dense { units: 4 } }
  loss: LOSS_SOFTMAX_CROSS_ENTROPY
}
"""
SGD = "optimizer { sgd { momentum: 0.9 } learning_rate: 0.05 }\n"
ADAM = "optimizer { adam {} learning_rate: 0.003 clip_global_norm: 1 }\n"
TRAINING = "training { batch_size: 48 steps: 24 log_every_steps: 4 }\n"


def write_job(folder, *parts, samples=300):
    """A job file with its data in `folder`; returns its path."""
    if not (folder / "images.idx").exists():
        write_images(folder, samples)
    path = folder / "job.textproto"
    path.write_text("seed: 5\n" + "".join(parts))
    return path


class Result:
    """How one run of the binary ended."""

    def __init__(self, process, stdout, stderr):
        self.code = process.returncode
        self.stdout = stdout
        self.stderr = stderr
        self.events = []
        for line in stdout.splitlines():
            if line.startswith("{"):
                self.events.append(json.loads(line))

    @property
    def summary(self):
        assert self.events and self.events[-1]["event"] == "summary", str(self)
        return self.events[-1]

    def __str__(self):
        return f"exit code {self.code}\n{self.stdout}\n{self.stderr}"


def start(*arguments, **options):
    """Starts the binary in a process group of its own."""
    return subprocess.Popen([BINARY, *map(str, arguments)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True, **options)


def finish(process, timeout=TIMEOUT_S):
    """Waits for it; a hang is an error that shows what it printed."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"hangs: {process.args}\n{stdout}\n{stderr}")
    return Result(process, stdout, stderr)


def run(*arguments, **options):
    return finish(start(*arguments, **options))


def train(job, output, *arguments):
    """A run that must succeed."""
    result = run("train", job, "--output", output, "--json", *arguments)
    assert result.code == 0, str(result)
    return result


def digest(path):
    result = run("digest", path)
    assert result.code == 0, str(result)
    text = result.stdout.strip()
    assert len(text) == 64, text
    return text


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children_of(pid):
    """Process ids whose parent is `pid`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(entry.name))
    return found


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, what, seconds=60):
    """Polls; the condition's value, or an error that names what was missing."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")
