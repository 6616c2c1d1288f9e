"""The work that every peer does, and how it is timed, checked and told.

A model of dense fp32 weights in tensors of 16 MiB starts at zero in a server
process; a worker process has one gradient of the same size. Each round does

    push_apply   all gradients to the server, which applies them with SGD
    pull         all weights to the worker
    both         push_apply, and the weights after it back

and then compares what arrived with what it must be, bit for bit. Gradients are
multiples of 2^-12 and the learning rate is a power of two, so every update is
exact in fp32 and no peer may round differently.

Needs numpy. A peer's script derives from Way, calls `measure` and is started
through `run`.
"""

import argparse
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback

# Read when a peer loads OpenMP. Threads that spin after an update take the
# cores from those that move bytes: gloo was half as fast on two busy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

KINDS = ("push_apply", "pull", "both")
TENSOR_FLOATS = 4 << 20
LEARNING_RATE = 2.0**-7
# Past the first round a peer has its connections, its buffers and its traced
# functions; one more for those that only then know what they need.
WARM_UP_ROUNDS = 2
REPEATS_MAX = 1000  # beyond, the weights would need more bits than fp32 has


def parse_arguments(description, add=lambda parser: None):
    """The command line that all peers have; `add` may add to it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--megabytes", type=int, default=256,
                        help="size of the model, in units of 2^20 bytes")
    parser.add_argument("--repeats", type=int, default=1,
                        help="rounds that count; one line of JSON for each")
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    parser.add_argument("--ports", type=int, nargs="*", default=[],
                        help=argparse.SUPPRESS)
    add(parser)
    arguments = parser.parse_args()
    if arguments.megabytes < 1 or not 1 <= arguments.repeats <= REPEATS_MAX:
        parser.error(f"megabytes is at least 1, repeats 1 to {REPEATS_MAX}")
    return arguments


def tensor_sizes(megabytes):
    """Floats of each tensor; the last may be smaller."""
    left = megabytes << 18
    sizes = []
    while left > 0:
        sizes.append(min(left, TENSOR_FLOATS))
        left -= sizes[-1]
    return sizes


def gradient(first, floats):
    """Elements [first, first + floats) of the gradient: multiples of 2^-12 in
    [-0.5, 0.5) that change from each element to the next, as in `selari bench
    wire`, so that a tensor in the wrong place is noticed."""
    index = np.arange(first, first + floats, dtype=np.uint64).astype(np.uint32)
    index *= np.uint32(2654435769)
    index >>= np.uint32(20)
    return ((index.astype(np.int32) - 2048).astype(np.float32)
            * np.float32(2.0**-12))


def gradients(megabytes):
    """The whole gradient, by tensor."""
    first, result = 0, []
    for floats in tensor_sizes(megabytes):
        result.append(gradient(first, floats))
        first += floats
    return result


def expected_weights(of_gradient, updates):
    """Exact; starts from +0 so that zeros have the right sign."""
    return np.float32(0) - of_gradient * np.float32(updates * LEARNING_RATE)


class Mismatch(Exception):
    """What arrived is not what it must be."""


class Way:
    """One peer's way of doing the work. All methods return when it is done."""

    name = ""
    version = ""

    def prepare(self):
        """Before each call below, untimed."""

    def push_apply(self):
        raise NotImplementedError

    def pull(self):
        raise NotImplementedError

    def both(self):
        raise NotImplementedError

    def weights(self):
        """What the last pull or both received, a numpy array a tensor."""
        raise NotImplementedError

    def check(self, updates):
        """Raises Mismatch unless the last pull or both received the weights
        after `updates` updates."""
        first = 0
        for number, got in enumerate(self.weights()):
            want = expected_weights(gradient(first, got.size), updates)
            check_bits(f"tensor {number}", got, want)
            first += got.size


def check_bits(what, got, want):
    """Raises Mismatch that names the first element that differs."""
    got = np.ascontiguousarray(got, np.float32).reshape(-1)
    if got.shape != want.shape:
        raise Mismatch(f"{what}: {got.size} floats instead of {want.size}")
    differs = got.view(np.uint32) != want.view(np.uint32)
    if differs.any():
        at = int(differs.argmax())
        raise Mismatch(f"{what}: element {at} is {got[at]!r} instead of "
                       f"{want[at]!r}; {int(differs.sum())} differ")


# Kept, as letting go of a peer may wait for processes that have ended.
_measured = []


def measure(way, arguments):
    """Runs and checks all rounds; prints a line of JSON for each that counts.

    Raises:
      Mismatch: for wrong weights, in rounds that warm up, too.
    """
    _measured.append(way)
    model_bytes = arguments.megabytes << 20
    updates = 0
    for number in range(WARM_UP_ROUNDS + arguments.repeats):
        line = {"peer": way.name, "version": way.version}
        for kind in KINDS:
            way.prepare()
            start = time.perf_counter()
            getattr(way, kind)()
            seconds = time.perf_counter() - start
            updates += kind != "pull"
            if kind != "push_apply":
                way.check(updates)
            moved = model_bytes * (2 if kind == "both" else 1)
            line[f"{kind}_bytes_per_second"] = moved / seconds
        if number >= WARM_UP_ROUNDS:
            print(json.dumps(line), flush=True)


def not_measured(name, version, reason):
    """Says so in a line of JSON; the script then ends with 0."""
    print(json.dumps({"peer": name, "version": version,
                      "not_measured": reason}), flush=True)


def free_ports(count):
    """Ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for entry in sockets:
            entry.bind(("127.0.0.1", 0))
        return [entry.getsockname()[1] for entry in sockets]


def _end_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@contextlib.contextmanager
def child(arguments, role, ports, environment=None):
    """This script once more in another process, which ends with the block and
    with this process. What it prints goes to stderr: stdout is for JSON."""
    command = [sys.executable, sys.argv[0], "--megabytes",
               str(arguments.megabytes), "--role", role, "--ports",
               *[str(port) for port in ports]]
    process = subprocess.Popen(  # ended below
        command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr,
        preexec_fn=_end_with_parent)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def run(main):
    """Calls a script's main and ends the process at once with 0, or with 1 and
    a traceback. The peers' own ways to end wait for processes that are no more
    when something has gone wrong, some for ever."""
    try:
        main()
    except SystemExit:  # the command line was wrong, or --help
        raise
    except BaseException:
        traceback.print_exc()
        # In here: past this block the exception's frames let go of the peer.
        _end(1)
    _end(0)


def _end(code):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
