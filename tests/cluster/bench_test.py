"""`selari bench` as a user runs it. What is measured is never asserted, only
that it was measured and that all weights were compared.
"""

import json
import os
import signal
import socket
import unittest

import harness

KINDS = ("push_apply", "pull", "both")


def free_address():
    """Of two ports in a row, as the peer needs."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return f"127.0.0.1:{port}"


class WireTest(unittest.TestCase):

    def refused(self, result, code, *parts):
        """One sentence that has all parts, and nothing else."""
        self.assertEqual(result.code, code, str(result))
        self.assertEqual(result.stdout, "")
        errors = [line for line in result.stderr.splitlines()
                  if line.startswith("selari: error: ")]
        self.assertEqual(len(errors), 1, str(result))
        for part in parts:
            self.assertIn(part, errors[0])

    def wait_until_told(self, process, words):
        """Reads standard error up to a line with `words`."""
        told = []
        while not told or words not in told[-1]:
            told.append(process.stderr.readline())
            self.assertTrue(told[-1], "ended early:\n" + "".join(told))

    def measured(self, *arguments, workers=1, slots=0):
        result = harness.run("bench", "wire", "--megabytes", 4, "--repeats", 1,
                             "--steps", 10, "--workers", workers, "--json",
                             *arguments)
        self.assertEqual(result.code, 0, str(result))
        report = json.loads(result.stdout)
        size = 4 << 20
        for kind in KINDS:
            for field in ("bytes_per_second", "raw_tcp_bytes_per_second",
                          "ratio", "grpc_bytes_per_second"):
                self.assertGreater(report[kind][field], 0, (kind, field))
        # Selari's pull and both before the rounds; in two rounds those, two
        # pulls of raw TCP and four exchanges.
        self.assertEqual(report["checked"]["comparisons"], 18)
        self.assertEqual(report["checked"]["bytes"], 18 * size * workers)
        self.assertEqual(report["checked"]["mismatches"], 0)
        for way in ("selari", "grpc", "raw_tcp"):
            times = report["step_latency"][way]
            self.assertGreaterEqual(times["p99_us"], times["p50_us"])
            self.assertGreater(times["p50_us"], 0)
        self.assertEqual(report["step_latency"]["bytes"], 10000)
        server = report["memory"]["server"]
        self.assertEqual(server["weights_bytes"], size)
        self.assertEqual(server["slots_bytes"], slots * size)
        self.assertGreater(server["vm_hwm_bytes"], size)
        client = report["memory"]["client"]
        self.assertEqual(client["gradients_bytes"], workers * size)
        self.assertGreater(client["vm_rss_bytes"], 2 * workers * size)
        self.assertEqual(report["parameters"]["model_bytes"], size)
        return report

    def test_alone(self):
        report = self.measured()
        self.assertTrue(report["parameters"]["own_peer"])

    def test_between_two_processes_twice(self):
        address = free_address()
        peer = harness.start("bench", "wire", "--listen", address)
        try:
            self.assertIn(address, peer.stderr.readline())
            for _ in range(2):
                report = self.measured("--connect", address, "--optimizer",
                                       "adam", workers=2, slots=2)
                self.assertEqual(report["parameters"]["peer"], address)
        finally:
            peer.send_signal(signal.SIGINT)
            result = harness.finish(peer)
        self.assertEqual(result.code, 0, str(result))

    def test_a_table_for_people(self):
        result = harness.run("bench", "wire", "--megabytes", 1, "--repeats", 1,
                             "--steps", 0)
        self.assertEqual(result.code, 0, str(result))
        for part in ("push+apply", "pull", "both", "GB/s", "resident memory",
                     "as expected, to the bit"):
            self.assertIn(part, result.stdout)

    def test_impossible_numbers(self):
        for flag, value in [("--repeats", 0), ("--megabytes", 0),
                            ("--megabytes", 1 << 40), ("--workers", 65),
                            ("--optimizer", "lamb"), ("--connect", "nowhere"),
                            ("--listen", "127.0.0.1:65536")]:
            with self.subTest(f"{flag} {value}"):
                self.refused(harness.run("bench", "wire", flag, value), 2,
                             str(value), "bench wire --help")

    def test_more_memory_than_there_is(self):
        self.refused(harness.run("bench", "wire", "--megabytes", 65536,
                                 "--workers", 64), 1, "memory", "are free")

    def test_both_ends_at_once(self):
        self.refused(harness.run("bench", "wire", "--listen", "127.0.0.1:0",
                                 "--connect", "127.0.0.1:1"), 2, "--listen")

    def test_nobody_answers(self):
        address = free_address()
        self.refused(harness.run("bench", "wire", "--connect", address), 3,
                     f"{address} does not answer", "refused")

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.refused(harness.run("bench", "wire", "--listen", address), 1,
                         address, "in use")

    def test_peer_that_dies_in_mid_run(self):
        address = free_address()
        peer = harness.start("bench", "wire", "--listen", address)
        self.assertIn(address, peer.stderr.readline())
        client = harness.start("bench", "wire", "--connect", address,
                               "--megabytes", 16, "--repeats", 1000)
        self.wait_until_told(client, "round 2")
        peer.kill()
        self.refused(harness.finish(client, timeout=60), 3, address.split(":")[0])
        harness.finish(peer)

    def test_own_peer_ends_with_the_command(self):
        client = harness.start("bench", "wire", "--megabytes", 16, "--repeats",
                               1000)
        self.wait_until_told(client, "round 0")
        [peer] = harness.children_of(client.pid)
        os.kill(client.pid, signal.SIGINT)
        self.assertEqual(harness.finish(client).code, -signal.SIGINT)
        harness.wait_until(lambda: not harness.alive(peer), "the peer to end")


class RatesTest(unittest.TestCase):

    def measured(self, *arguments):
        result = harness.run("bench", *arguments, "--repeats", 1, "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)

    def test_apply(self):
        report = self.measured("apply", "--megabytes", 1, "--workers", 2)
        self.assertGreater(report["limits"]["memcpy"]["bytes_per_second"], 0)
        self.assertIn("lamb", report["apply"])
        for name, rate in report["apply"].items():
            self.assertGreater(rate["bytes_per_second"], 0, name)
            self.assertGreater(rate["ratio"], 0, name)
        self.assertEqual(report["parameters"]["model_bytes"], 1 << 20)

    def test_kernels(self):
        report = self.measured("kernels")
        self.assertGreater(
            report["limits"]["multiply_add"]["flops_per_second"], 0)
        units = set()
        for name, rate in report["kernels"].items():
            self.assertGreater(rate["ratio"], 0, name)
            units.update(unit for unit in rate if unit.endswith("per_second"))
        self.assertEqual(units, {"bytes_per_second", "flops_per_second"})

    def test_tables_for_people(self):
        result = harness.run("bench", "apply", "--megabytes", 1, "--repeats", 1)
        self.assertEqual(result.code, 0, str(result))
        for part in ("memcpy", "the limit", "adam_w", "GB/s"):
            self.assertIn(part, result.stdout)


class StepTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("bench-step")
        self.job = harness.write_job(self.folder, harness.DATA, harness.MLP,
                                     harness.ADAM, harness.TRAINING)

    def test_json(self):
        before = sorted(self.folder.iterdir())
        result = harness.run("bench", "step", self.job, "--steps", 20,
                             "--repeats", 2, "--threads", 2, "--set",
                             "training.batch_size=40", "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.stderr, "")
        report = json.loads(result.stdout)
        rate = report["samples_per_second"]
        self.assertGreater(rate["min"], 0)
        self.assertLessEqual(rate["min"], rate["median"])
        self.assertLessEqual(rate["median"], rate["max"])
        self.assertGreater(report["mean_of_a_step"]["compute_us"], 0)
        self.assertEqual(report["parameters"]["batch"], 40)
        self.assertEqual(report["parameters"]["threads"], 2)
        self.assertEqual(report["parameters"]["weights"],
                         64 * 24 + 24 + 24 * 4 + 4)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_a_table_for_people(self):
        result = harness.run("bench", "step", self.job, "--steps", 5)
        self.assertEqual(result.code, 0, str(result))
        for part in ("samples/s", "forward and backward", "cores busy"):
            self.assertIn(part, result.stdout)

    def test_bad_input(self):
        for arguments, code, part in [
                (["nowhere.textproto"], 2, "nowhere.textproto"),
                ([self.job, "--steps", 3], 2, "--repeats"),
                ([self.job, "--set", "training.batch_size=-1"], 2, "-1")]:
            with self.subTest(str(arguments)):
                result = harness.run("bench", "step", *arguments)
                self.assertEqual(result.code, code, str(result))
                self.assertIn(part, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
