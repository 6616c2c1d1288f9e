"""torch.distributed.rpc: a parameter server object behind an RRef.

Each tensor is an rpc_async of its own, so that the server applies one while
the next is on its way. TensorPipe chooses how bytes move; between processes of
one host that is shared memory and reads out of the other process's memory,
where the kernel allows it. --tcp leaves it sockets alone, as between hosts.
"""

import os

os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import peer_work
import torch
from torch.distributed import rpc

TIMEOUT_S = 600
# What TensorPipe has for CPU memory between hosts.
TCP_TRANSPORTS = ["uv"]
TCP_CHANNELS = ["mpt_uv", "basic"]


class ParameterServer:
    """Lives in the server's process; static methods run there."""

    def __init__(self, megabytes):
        self.weights = [torch.zeros(floats)
                        for floats in peer_work.tensor_sizes(megabytes)]

    @staticmethod
    def push(server, number, gradient):
        weights = server.local_value().weights[number]
        weights.sub_(gradient, alpha=peer_work.LEARNING_RATE)

    @staticmethod
    def pull(server, number):
        return server.local_value().weights[number]

    @staticmethod
    def push_pull(server, number, gradient):
        ParameterServer.push(server, number, gradient)
        return server.local_value().weights[number]


class TorchRpc(peer_work.Way):

    version = torch.__version__

    def __init__(self, megabytes, name):
        self.name = name
        self._gradients = [torch.from_numpy(gradient)
                           for gradient in peer_work.gradients(megabytes)]
        self._server = rpc.remote("server", ParameterServer, (megabytes,))
        self._weights = []

    def _call(self, method, *columns):
        """One call for each tensor, all under way at once."""
        return torch.futures.wait_all([
            rpc.rpc_async("server", method, (self._server, number, *row))
            for number, *row in zip(range(len(self._gradients)), *columns)])

    def push_apply(self):
        self._call(ParameterServer.push, self._gradients)

    def pull(self):
        self._weights = self._call(ParameterServer.pull)

    def both(self):
        self._weights = self._call(ParameterServer.push_pull, self._gradients)

    def weights(self):
        return [weights.numpy() for weights in self._weights]


def options(port, tcp):
    # The two private arguments are the only way to choose.
    chosen = {"_transports": TCP_TRANSPORTS,
              "_channels": TCP_CHANNELS} if tcp else {}
    return rpc.TensorPipeRpcBackendOptions(
        init_method=f"tcp://127.0.0.1:{port}", rpc_timeout=TIMEOUT_S, **chosen)


def main():
    arguments = peer_work.parse_arguments(__doc__, lambda parser: (
        parser.add_argument("--tcp", action="store_true",
                            help="sockets alone, no shared memory")))
    tcp = arguments.tcp or arguments.role == "tcp"
    if arguments.role:
        rpc.init_rpc("server", rank=1, world_size=2,
                     rpc_backend_options=options(arguments.ports[0], tcp))
        rpc.shutdown()  # serves until the worker has gone
        return
    ports = peer_work.free_ports(1)
    with peer_work.child(arguments, "tcp" if tcp else "any", ports):
        rpc.init_rpc("worker", rank=0, world_size=2,
                     rpc_backend_options=options(ports[0], tcp))
        name = "torch.distributed.rpc" + (", TCP" if tcp else "")
        peer_work.measure(TorchRpc(arguments.megabytes, name), arguments)


if __name__ == "__main__":
    peer_work.run(main)
