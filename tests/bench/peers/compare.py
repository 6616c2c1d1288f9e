"""Push and pull of Selari and of its peers: the same bytes on the same cores,
in turns. README.md says what is compared and how.

    python tests/bench/peers/compare.py path/to/selari

Makes a virtual environment for each peer from PyPI when it is missing, and
says so. Exit code 1 when a peer or Selari failed, which includes weights that
are not what they must be; a peer that cannot run here is no failure.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys

import environments
import peer_table

HERE = pathlib.Path(__file__).resolve().parent
SELARI = "Selari"
RAW_TCP = "raw TCP"


@dataclasses.dataclass(frozen=True)
class Peer:
    """A way to do the work: a script, its arguments, its environment."""

    name: str
    script: pathlib.Path
    environment: environments.Environment
    arguments: tuple = ()


TENSORFLOW = environments.Environment(
    "tensorflow", ("tensorflow-cpu==2.21.0",), (3, 13))
# The last release of MXNet uses names that numpy 1.24 no longer has.
MXNET = environments.Environment(
    "mxnet", ("mxnet==1.9.1", "numpy==1.23.5"), (3, 11))
PYTORCH = environments.Environment(
    "pytorch", ("torch==2.4.1", "numpy==1.26.4"), (3, 12))

PEERS = (
    Peer("tensorflow", HERE / "tensorflow_parameter_server.py", TENSORFLOW),
    Peer("mxnet", HERE / "mxnet_kvstore.py", MXNET),
    Peer("torch-rpc", HERE / "torch_rpc.py", PYTORCH),
    Peer("torch-rpc-tcp", HERE / "torch_rpc.py", PYTORCH, ("--tcp",)),
    Peer("torch-gloo", HERE / "torch_gloo.py", PYTORCH),
)


class Failed(Exception):
    """A program that should have measured has not."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_json(command, cpus, timeout_s):
    """Runs `command` on these cores; the last line it prints, as an object.

    Raises:
      Failed: when it ends with another code than 0, takes too long or prints
        no JSON.
    """
    process = subprocess.Popen(  # a group of its own, ended as a whole below
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"not done after {timeout_s} s") from error
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    if process.returncode != 0:
        last = (errors.strip().splitlines() or ["it said nothing"])[-1]
        raise Failed(f"exit code {process.returncode}: {last}")
    try:
        line = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise Failed("it printed no JSON") from error
    if not isinstance(line, dict):
        raise Failed("it printed no JSON object")
    return line


class Comparison:
    """All rows, and how they are filled."""

    def __init__(self, arguments, peers):
        self._arguments = arguments
        self._cpus = arguments.cpus
        self.failed = False
        self.rows = {name: _row() for name in (SELARI, RAW_TCP)}
        self._pythons = {}
        self._peers = [peer for peer in peers if self._prepare(peer)]

    def _prepare(self, peer):
        """Whether the peer has an interpreter to run with."""
        self.rows[peer.name] = _row()
        environment = peer.environment
        try:
            if environment.name not in self._pythons:
                self._pythons[environment.name] = self._python(environment)
        except environments.NotMade as error:
            self._leave_out(peer.name, f"not measured: {error}")
            return False
        return True

    def _python(self, environment):
        given = dict(entry.split("=", 1) for entry in self._arguments.env)
        if environment.name in given:
            return environments.python_of(given[environment.name])
        return environments.make(environment, self._arguments.env_dir, say)

    def _leave_out(self, name, reason):
        say(f"{name}: {reason}")
        self.rows[name]["note"] = reason

    def run(self):
        """All repeats; in each, all that can still be measured take turns, in
        another order each time."""
        runs = [(SELARI, self._run_selari)]
        runs += [(peer.name, lambda peer=peer: self._run_peer(peer))
                 for peer in self._peers]
        for repeat in range(self._arguments.repeats):
            turn = repeat % len(runs)
            for name, measure in runs[turn:] + runs[:turn]:
                self.rows[name]["rates"].append(None)
                if name == SELARI:
                    self.rows[RAW_TCP]["rates"].append(None)
                if self.rows[name]["note"]:
                    continue
                say(f"repeat {repeat + 1} of {self._arguments.repeats}: {name}")
                try:
                    measure()
                except (Failed, peer_table.BadOutput) as error:
                    self.failed = True
                    self._leave_out(name, f"failed: {error}")

    def _run_selari(self):
        report = run_json(
            [self._arguments.binary, "bench", "wire", "--megabytes",
             str(self._arguments.megabytes), "--repeats", "1", "--steps", "0",
             "--json"], self._cpus, self._arguments.timeout_s)
        rates, raw = peer_table.read_selari(report)
        self.rows[SELARI]["rates"][-1] = rates
        self.rows[RAW_TCP]["rates"][-1] = raw

    def _run_peer(self, peer):
        line = run_json(
            [str(self._pythons[peer.environment.name]), str(peer.script),
             "--megabytes", str(self._arguments.megabytes), "--repeats", "1",
             *peer.arguments], self._cpus, self._arguments.timeout_s)
        result = peer_table.read_peer(line)
        self.rows[peer.name]["version"] = str(line.get("version", ""))
        if isinstance(result, str):
            self._leave_out(peer.name, f"not measured: {result}")
        else:
            self.rows[peer.name]["rates"][-1] = result


def _row():
    return {"version": "", "rates": [], "note": ""}


def parse_arguments(argv, peers):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary", help="the selari binary")
    parser.add_argument("--megabytes", type=int, default=256,
                        help="size of the model, in units of 2^20 bytes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", nargs="*", metavar="PEER",
                        choices=[peer.name for peer in peers],
                        help="default: all; " +
                        ", ".join(peer.name for peer in peers))
    parser.add_argument("--env-dir", default=os.path.expanduser(
        "~/.cache/selari/peers"), help="where environments are made")
    parser.add_argument("--env", action="append", default=[],
                        metavar="NAME=FOLDER", help="an environment that "
                        "exists; tensorflow, mxnet or pytorch")
    parser.add_argument("--cpus", type=lambda text: {
        int(part) for part in text.split(",")},
        default=os.sched_getaffinity(0), metavar="N,N",
        help="cores for all that is measured; default: all")
    parser.add_argument("--timeout-s", type=float, default=600,
                        help="for one run, start and warm-up included")
    parser.add_argument("--json", action="store_true",
                        help="print one JSON object instead of the table")
    arguments = parser.parse_args(argv)
    if arguments.megabytes < 1 or arguments.repeats < 1:
        parser.error("--megabytes and --repeats are at least 1")
    for entry in arguments.env:
        if "=" not in entry:
            parser.error(f"--env {entry}: NAME=FOLDER is needed")
    return arguments


def main(argv=None, peers=PEERS):
    arguments = parse_arguments(argv, peers)
    chosen = [peer for peer in peers
              if not arguments.peers or peer.name in arguments.peers]
    comparison = Comparison(arguments, chosen)
    comparison.run()
    summary = peer_table.summary(comparison.rows, SELARI)
    cpus = sorted(arguments.cpus)
    if arguments.json:
        print(json.dumps({"megabytes": arguments.megabytes,
                          "repeats": arguments.repeats, "cpus": cpus,
                          "rows": summary}))
    else:
        print(f"{arguments.megabytes} MiB of fp32 weights, 1 server, 1 worker, "
              f"SGD; {arguments.repeats} repeats in turns on cores {cpus}\n")
        print(peer_table.table(summary, SELARI))
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
