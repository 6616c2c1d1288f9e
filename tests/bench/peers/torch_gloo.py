"""torch.distributed with gloo: tensors sent and received between two ranks.

Gloo has no parameter server; this is the least code that makes one of it: the
server's rank receives each gradient into a buffer of its own, applies it while
the next ones arrive, and sends weights back from where they lie.
"""

import os
from datetime import timedelta

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import peer_work
import torch
import torch.distributed as dist

WORKER, SERVER = 0, 1


def start(rank, port):
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2,
        timeout=timedelta(minutes=10))


def wait(works):
    for work in works:
        work.wait()


def serve(megabytes):
    """The server's rank: does what each command asks for, until it is ended."""
    weights = [torch.zeros(floats)
               for floats in peer_work.tensor_sizes(megabytes)]
    arriving = [torch.empty_like(tensor) for tensor in weights]
    command = torch.zeros(1, dtype=torch.int64)
    while True:
        dist.recv(command, WORKER)
        kind = peer_work.KINDS[int(command)]
        receiving, sending = [], []
        if kind != "pull":
            receiving = [dist.irecv(tensor, WORKER, tag=number)
                         for number, tensor in enumerate(arriving)]
        for number, tensor in enumerate(weights):
            if receiving:
                receiving[number].wait()
                tensor.sub_(arriving[number], alpha=peer_work.LEARNING_RATE)
            if kind != "push_apply":
                sending.append(dist.isend(tensor, WORKER, tag=number))
        wait(sending)
        if kind == "push_apply":
            dist.send(command, WORKER)  # all is applied


class TorchGloo(peer_work.Way):

    name = "torch.distributed, gloo"
    version = torch.__version__

    def __init__(self, megabytes):
        self._gradients = [torch.from_numpy(gradient)
                           for gradient in peer_work.gradients(megabytes)]
        self._weights = [torch.empty_like(tensor)
                         for tensor in self._gradients]

    def _run(self, kind):
        dist.send(torch.tensor([peer_work.KINDS.index(kind)]), SERVER)
        works = []
        if kind != "push_apply":
            works += [dist.irecv(tensor, SERVER, tag=number)
                      for number, tensor in enumerate(self._weights)]
        if kind != "pull":
            works += [dist.isend(tensor, SERVER, tag=number)
                      for number, tensor in enumerate(self._gradients)]
        wait(works)
        if kind == "push_apply":
            dist.recv(torch.zeros(1, dtype=torch.int64), SERVER)

    def push_apply(self):
        self._run("push_apply")

    def pull(self):
        self._run("pull")

    def both(self):
        self._run("both")

    def weights(self):
        return [weights.numpy() for weights in self._weights]


def main():
    arguments = peer_work.parse_arguments(__doc__)
    if arguments.role:
        start(SERVER, arguments.ports[0])
        serve(arguments.megabytes)
        return
    ports = peer_work.free_ports(1)
    with peer_work.child(arguments, "server", ports):
        start(WORKER, ports[0])
        peer_work.measure(TorchGloo(arguments.megabytes), arguments)


if __name__ == "__main__":
    peer_work.run(main)
