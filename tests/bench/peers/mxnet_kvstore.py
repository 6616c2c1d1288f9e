"""MXNet's KVStore dist_sync (ps-lite): scheduler, server and worker processes.

The optimizer is handed to the store, so that the server applies it. Each
tensor is a key of its own; MXNet's engine has them under way at once.
"""

import os

import peer_work

NAME = "MXNet KVStore dist_sync"


def role_environment(role, port):
    """What MXNet reads on import to know which process it is."""
    return {
        **os.environ,
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NODE_HOST": "127.0.0.1",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": "1",
    }


class MxnetKvstore(peer_work.Way):

    name = NAME

    def __init__(self, mxnet, megabytes):
        self._mxnet = mxnet
        self.version = mxnet.__version__
        self._store = mxnet.kvstore.create("dist_sync")
        self._store.set_optimizer(mxnet.optimizer.SGD(
            learning_rate=peer_work.LEARNING_RATE, momentum=0, wd=0,
            rescale_grad=1))
        self._made = peer_work.gradients(megabytes)
        self._gradients = [mxnet.nd.array(gradient) for gradient in self._made]
        self._weights = [mxnet.nd.zeros(gradient.shape)
                         for gradient in self._gradients]
        self._keys = list(range(len(self._gradients)))
        self._store.init(self._keys, self._weights)
        mxnet.nd.waitall()

    def prepare(self):
        """What is pulled lands, on its way, in the array that was pushed last
        for the key: the store takes that for its own buffer."""
        for gradient, made in zip(self._gradients, self._made):
            gradient[:] = made
        self._mxnet.nd.waitall()

    def push_apply(self):
        self._store.push(self._keys, self._gradients)
        self._mxnet.nd.waitall()

    def pull(self):
        self._store.pull(self._keys, self._weights)
        self._mxnet.nd.waitall()

    def both(self):
        self._store.pushpull(self._keys, self._gradients, self._weights)
        self._mxnet.nd.waitall()

    def weights(self):
        return (weights.asnumpy() for weights in self._weights)


def main():
    arguments = peer_work.parse_arguments(__doc__)
    if arguments.role:
        import mxnet  # serves, and ends the process when the worker has gone
        return
    port, = peer_work.free_ports(1)
    scheduler, server, worker = (
        role_environment(role, port)
        for role in ("scheduler", "server", "worker"))
    with peer_work.child(arguments, "scheduler", [], scheduler), \
         peer_work.child(arguments, "server", [], server):
        os.environ.update(worker)
        try:
            import mxnet
        except Exception as error:  # whatever an old package meets here
            peer_work.not_measured(
                NAME, "", f"import mxnet: {type(error).__name__}: {error}")
            return
        peer_work.measure(MxnetKvstore(mxnet, arguments.megabytes), arguments)


if __name__ == "__main__":
    peer_work.run(main)
