"""With journals: a server may be killed at any moment, and what it acknowledged
is there again, once; the others do not go back.
"""

import collections
import json
import os
import pathlib
import random
import signal
import struct
import sys
import tempfile
import threading
import time
import unittest

import harness

TRAINING = ("training { batch_size: 48 steps: 1500 log_every_steps: 10 }\n"
            "checkpointing { every_steps: 100 durability: "
            "DURABILITY_JOURNALED }\n")


def member_of(pid):
    """("server", 1) of a process of `selari train`."""
    with open(f"/proc/{pid}/cmdline", encoding="utf8") as file:
        words = file.read().split("\0")
    return words[1], int(words[words.index("--id") + 1])


class JournaledTrainingTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("journal")

    def job(self, *parts):
        return harness.write_job(self.folder, harness.DATA, *parts)

    def train_under_fire(self, job, kinds, seed, *shape):
        """Kills members of some kinds; the result and what people read."""
        chance = random.Random(seed)
        process = harness.start("train", job, "--output",
                                self.folder / "out", "--json", *shape)
        killed = []
        notes = []
        next_kill = 0
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "note":
                notes.append(event["message"])
            if event["event"] == "progress" and event["step"] >= next_kill:
                next_kill = event["step"] + chance.randrange(50, 300)
                time.sleep(chance.random() * 0.05)
                try:
                    victims = [pid for pid in
                               harness.children_of(process.pid)
                               if member_of(pid)[0] in kinds]
                    victim = chance.choice(victims)
                    name = member_of(victim)
                    os.kill(victim, signal.SIGKILL)
                    killed.append(name)
                except (OSError, ValueError, IndexError):
                    pass  # it has just ended, or just begun
        result = harness.finish(process)
        self.assertEqual(result.code, 0, f"{killed}: {result}")
        self.assertGreater(len(killed), 2, notes)
        return killed, notes

    def check(self, kinds, seed, model, optimizer, *more):
        job = self.job(model, optimizer, TRAINING, *more)
        harness.train(job, self.folder / "central", "--centralised")
        killed, notes = self.train_under_fire(
            job, kinds, seed, "--servers", 3, "--workers", 2)
        self.assertEqual(harness.digest(self.folder / "out"),
                         harness.digest(self.folder / "central"), killed)
        return notes

    def test_nothing_goes_back_for_servers(self):
        notes = self.check(["server"], 1, harness.MLP, harness.SGD)
        text = "\n".join(notes)
        self.assertIn("its journals have what it acknowledged", text)
        self.assertNotIn("goes back", text)

    def test_servers_with_rounds_and_large_chunks(self):
        wide = harness.MLP.replace("units: 24", "units: 200")
        notes = self.check(["server"], 2, wide, harness.ADAM,
                           "cluster { shard_count: 4 }\n")
        self.assertNotIn("goes back", "\n".join(notes))

    def test_any_member(self):
        self.check(["server", "worker"], 3, harness.MLP, harness.ADAM)

    def test_one_process_says_that_it_keeps_none(self):
        job = self.job(harness.MLP, harness.SGD, harness.TRAINING,
                       "checkpointing { durability: DURABILITY_JOURNALED }\n")
        result = harness.train(job, self.folder / "out", "--centralised")
        self.assertIn("one process keeps no journals", result.stdout)
        self.assertFalse((self.folder / "out" / "journals").exists())


CELLS = 600
LEDGER = """
seed: 1
model { custom {
  tensors { name: "cells" shape: 600 initializer { constant: 0 } }
} }
optimizer { sgd {} learning_rate: 1 }
training { steps: 0 }
consistency { mode: CONSISTENCY_ASYNC }
checkpointing { durability: DURABILITY_JOURNALED }
cluster { workers: 3 shard_count: 6 lease_ms: 1000 join_timeout_s: 60 }
"""


def load_stubs():
    """The modules that protoc makes of proto/."""
    from grpc_tools import protoc
    proto, out = pathlib.Path("proto"), tempfile.mkdtemp()
    names = [str(path.relative_to(proto))
             for path in sorted(proto.glob("selari/v1/*.proto"))]
    code = protoc.main(["protoc", f"-I{proto}", f"--python_out={out}",
                        f"--grpc_python_out={out}", *names])
    assert code == 0
    sys.path.insert(0, out)
    from selari.v1 import coordinator_service_pb2 as cs
    from selari.v1 import coordinator_service_pb2_grpc as cs_grpc
    from selari.v1 import parameter_service_pb2 as ps
    from selari.v1 import parameter_service_pb2_grpc as ps_grpc
    return cs, cs_grpc, ps, ps_grpc


class Pusher(threading.Thread):
    """Worker that adds 1 to each of its own cells, one push at a time, and
    sends a push until it is acknowledged."""

    def __init__(self, stubs, address, worker_id, workers):
        super().__init__(daemon=True)
        import grpc
        self.grpc = grpc
        self.cs, cs_grpc, self.ps, self.ps_grpc = stubs
        self.coordinator = cs_grpc.CoordinatorServiceStub(
            grpc.insecure_channel(address))
        self.worker_id = worker_id
        self.cells = range(worker_id, CELLS, workers)
        self.incarnation = random.getrandbits(63) | 1
        self.done = 0
        self.retries = 0
        self.error = None

    def run(self):
        try:
            self.push_all()
        except Exception as error:  # told by the test's thread
            self.error = error

    def register(self):
        self.job = self.coordinator.GetJob(self.cs.GetJobRequest(),
                                           wait_for_ready=True).job
        self.coordinator.RegisterWorker(self.cs.RegisterWorkerRequest(
            worker_id=self.worker_id, incarnation=self.incarnation,
            instruction_set=self.job.job.cluster.instruction_set))

    def find_servers(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                self.map = self.coordinator.GetShardMap(
                    self.cs.GetShardMapRequest(), timeout=5).shard_map
                break
            except self.grpc.RpcError as error:
                if error.code() != self.grpc.StatusCode.UNAVAILABLE or (
                        time.monotonic() > deadline):
                    raise
                time.sleep(0.05)
        self.servers = {s.server_id: self.ps_grpc.ParameterServiceStub(
            self.grpc.insecure_channel(s.address))
            for s in self.map.servers}

    def push_all(self):
        self.register()
        self.find_servers()
        first = self.map.shard_owners[0]
        chunks = self.servers[first].GetTensor(
            self.ps.GetTensorRequest(name="cells")).tensor.chunks
        sequences = collections.Counter()
        # Of one worker each chunk gets one push in each clock.
        clocks = collections.Counter()
        for cell in self.cells:
            chunk = next(c for c in chunks
                         if c.offset <= cell < c.offset + c.count)
            sequences[chunk.shard] += 1
            gradient = [0.0] * chunk.count
            gradient[cell - chunk.offset] = -1.0
            push = self.ps.ChunkPush(
                chunk=chunk.chunk, step=clocks[chunk.chunk],
                sequence=sequences[chunk.shard],
                gradient=struct.pack(f"<{chunk.count}f", *gradient))
            clocks[chunk.chunk] += 1
            self.push_until_acknowledged(chunk.shard, push)
            self.done += 1

    def push_until_acknowledged(self, shard, push):
        request = self.ps.PushGradientRequest(
            job_id=self.job.job_id, worker_id=self.worker_id,
            worker_incarnation=self.incarnation, pushes=[push])
        deadline = time.monotonic() + 60
        while True:
            server = self.servers[self.map.shard_owners[shard]]
            try:
                acks = server.PushGradient(request, timeout=10).acks
                assert acks[0].guarantee == self.ps.GUARANTEE_JOURNALED, acks
                return
            except self.grpc.RpcError as error:
                if error.code() != self.grpc.StatusCode.UNAVAILABLE or (
                        time.monotonic() > deadline):
                    raise
                self.retries += 1
                time.sleep(0.02)
                self.find_servers()


class LedgerTest(unittest.TestCase):

    def test_each_acknowledged_push_counts_once(self):
        import grpc
        folder = harness.scratch("ledger")
        job = folder / "job.textproto"
        job.write_text(LEDGER)
        stubs = load_stubs()
        cs, cs_grpc, ps, ps_grpc = stubs
        address = f"127.0.0.1:{harness.free_port()}"
        processes = [harness.start("coordinator", job, "--servers", 3,
                                   "--listen", address, "--output",
                                   folder / "out")]
        start = lambda i: harness.start("server", "--coordinator", address,
                                        "--id", i)
        servers = [start(i) for i in range(3)]
        chance = random.Random(9)
        pushers = [Pusher(stubs, address, i, 3) for i in range(3)]
        coordinator = cs_grpc.CoordinatorServiceStub(
            grpc.insecure_channel(address))
        ends = threading.Event()

        def keep_leases():
            while not ends.wait(0.25):
                for pusher in pushers:
                    try:
                        coordinator.RenewLease(cs.RenewLeaseRequest(
                            kind=cs.MEMBER_KIND_WORKER,
                            member_id=pusher.worker_id,
                            incarnation=pusher.incarnation), timeout=5)
                    except grpc.RpcError:
                        pass  # not registered yet
        keeper = threading.Thread(target=keep_leases, daemon=True)
        try:
            keeper.start()
            for pusher in pushers:
                pusher.start()
            kills = 0
            while any(pusher.is_alive() for pusher in pushers):
                at = sum(pusher.done for pusher in pushers)
                harness.wait_until(
                    lambda: sum(p.done for p in pushers) >= min(
                        at + 40, CELLS) or any(p.error for p in pushers),
                    "more pushes")
                if chance.random() < 0.4:
                    try:
                        coordinator.SaveCheckpoint(
                            cs.SaveCheckpointRequest(), timeout=20)
                    except grpc.RpcError:
                        pass  # a server is away
                if kills < 6:
                    kills += 1
                    victims = chance.sample(range(3), chance.choice([1, 1, 3]))
                    for i in victims:
                        servers[i].kill()
                    for i in victims:
                        harness.finish(servers[i])
                    time.sleep(1.2)  # their leases end
                    for i in victims:
                        servers[i] = start(i)
            for pusher in pushers:
                pusher.join()
                self.assertIsNone(pusher.error, f"after {pusher.done}")
            self.assertGreaterEqual(kills, 4)
            pusher = pushers[0]
            pusher.find_servers()
            cells = {}
            for server in pusher.servers.values():
                pulled = server.PullTensor(ps.PullTensorRequest(name="cells"),
                                           timeout=20)
                for piece in pulled.pieces:
                    values = struct.unpack(f"<{piece.count}f", piece.data)
                    for i, value in enumerate(values):
                        cells[piece.offset + i] = value
            self.assertEqual(len(cells), CELLS)
            wrong = {c: v for c, v in cells.items() if v != 1}
            self.assertEqual(wrong, {})
            coordinator.StopJob(cs.StopJobRequest(), timeout=30)
        finally:
            ends.set()
            keeper.join()
            for process in processes + servers:
                process.terminate()
                result = harness.finish(process)
        self.assertEqual(result.code, 0, str(result))


if __name__ == "__main__":
    unittest.main()
