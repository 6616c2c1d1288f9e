"""TensorFlow's ParameterServerStrategy: coordinator, worker and ps processes.

The coordinator (this process) only says what to run; the tf.functions run on
the worker, and the variables live on the ps, so that gradients and weights go
between these two and nowhere else. Each variable has a path of its own through
the graph: TensorFlow has all of them under way at once.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import peer_work
import tensorflow as tf


def cluster(ports):
    return tf.train.ClusterSpec({
        job: [f"127.0.0.1:{port}"]
        for job, port in zip(("ps", "worker"), ports)})


def serve(role, ports):
    """The ps or the worker; never returns. More connections between the two
    (rpc_options.num_channels_per_target) were no faster."""
    tf.distribute.Server(cluster(ports), job_name=role, task_index=0,
                         protocol="grpc").join()


def make_gradient(first, floats):
    """peer_work.gradient as a graph, so that the worker makes its own."""
    index = tf.range(first, first + floats, dtype=tf.int64)
    # 2654435769 * index modulo 2^32, of which the upper 12 bits count.
    index = tf.bitwise.bitwise_and(index * 2654435769, 0xFFFFFFFF)
    index = tf.bitwise.right_shift(index, tf.constant(20, tf.int64))
    return tf.cast(index - 2048, tf.float32) * 2.0**-12


class ParameterServer(peer_work.Way):

    name = "TensorFlow ParameterServerStrategy"
    version = tf.__version__

    def __init__(self, megabytes, ports):
        self._sizes = peer_work.tensor_sizes(megabytes)
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                cluster(ports), rpc_layer="grpc"))
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(
            strategy)
        with strategy.scope():
            self._variables = [tf.Variable(tf.zeros([floats]))
                               for floats in self._sizes]
        for variable in self._variables:
            assert "/job:ps/" in variable.device, variable.device
        # The same tensors again and again, kept in the worker's memory.
        self._gradients = iter(self._coordinator.create_per_worker_dataset(
            self._gradients_dataset))
        self._ends = []
        self._define()

    def _gradients_dataset(self):
        first, tensors = 0, []
        for floats in self._sizes:
            tensors.append(make_gradient(first, floats))
            first += floats
        return tf.data.Dataset.from_tensors(tuple(tensors)).repeat()

    def _define(self):
        """The functions that the worker runs."""

        def apply(gradients):
            for variable, gradient in zip(self._variables, gradients):
                # w -= rate * g in one pass, where the variable is.
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=peer_work.LEARNING_RATE,
                    delta=gradient)

        def ends(weights):
            """The first and the last weight: all have come to the worker."""
            return tf.stack([w[at] for w in weights for at in (0, -1)])

        @tf.function
        def push_apply(gradients):
            apply(next(gradients))

        @tf.function
        def pull():
            return ends([v.read_value() for v in self._variables])

        @tf.function
        def both(gradients):
            apply(next(gradients))
            return ends([v.read_value() for v in self._variables])

        @tf.function
        def count_wrong(gradients, scale):
            """Weights of each tensor that differ from what they must be; by
            value, as the graph's optimizer does not keep the sign of zeros."""
            return tf.stack([
                tf.math.count_nonzero(
                    tf.not_equal(v.read_value(), -gradient * scale))
                for v, gradient in zip(self._variables, next(gradients))])

        self._push_apply, self._pull = push_apply, pull
        self._both, self._count_wrong = both, count_wrong

    def _run(self, function, *arguments):
        return self._coordinator.schedule(function, args=arguments).fetch()

    def push_apply(self):
        self._run(self._push_apply, self._gradients)

    def pull(self):
        self._ends = self._run(self._pull)

    def both(self):
        self._ends = self._run(self._both, self._gradients)

    def check(self, updates):
        """The weights themselves stay in the worker, which looks at all of
        them after the timed call; of that call's own, two of each tensor."""
        scale = tf.constant(updates * peer_work.LEARNING_RATE)
        wrong = self._run(self._count_wrong, self._gradients, scale)
        if wrong.any():
            raise peer_work.Mismatch(f"wrong weights by tensor: {wrong}")
        first = 0
        for number, floats in enumerate(self._sizes):
            for at, got in zip((first, first + floats - 1),
                               self._ends[2 * number:]):
                peer_work.check_bits(f"element {at}", got, (
                    peer_work.expected_weights(peer_work.gradient(at, 1),
                                               updates)))
            first += floats


def main():
    arguments = peer_work.parse_arguments(__doc__)
    if arguments.role:
        serve(arguments.role, arguments.ports)
    ports = peer_work.free_ports(2)
    with peer_work.child(arguments, "ps", ports), \
         peer_work.child(arguments, "worker", ports):
        peer_work.measure(ParameterServer(arguments.megabytes, ports),
                          arguments)


if __name__ == "__main__":
    peer_work.run(main)
