"""A cluster started one process at a time, with flags only: on one host, and
in two network namespaces that see each other through a virtual cable. The
result has the bits of a centralised run.
"""

import os
import shutil
import subprocess
import unittest

import harness

JOB = (harness.DATA, harness.MLP, harness.ADAM, harness.TRAINING)


class Hosts:
    """Two network namespaces and the cable between them."""

    def __init__(self):
        self.names = [f"selari-{os.getpid()}-{i}" for i in range(2)]
        self.addresses = ["10.213.7.1", "10.213.7.2"]
        ends = [f"sv{os.getpid() % 100000}{i}" for i in "ab"]
        self._ip("link", "add", ends[0], "type", "veth", "peer", "name",
                 ends[1])
        for name, end, address in zip(self.names, ends, self.addresses):
            self._ip("netns", "add", name)
            self._ip("link", "set", end, "netns", name)
            self._ip("-n", name, "addr", "add", address + "/24", "dev", end)
            self._ip("-n", name, "link", "set", end, "up")
            self._ip("-n", name, "link", "set", "lo", "up")

    def _ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def start(self, host, *arguments):
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[host], harness.BINARY,
             *map(str, arguments)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)


class SeparateMachinesTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("machines")
        # Machines share no memory, unlike namespaces of one.
        self.job = harness.write_job(
            self.folder, *JOB,
            "cluster { shared_memory: SHARED_MEMORY_USE_OFF }")
        harness.train(self.job, self.folder / "central", "--centralised")
        self.expected = harness.digest(self.folder / "central")

    def finish_all(self, processes):
        for name, process in processes.items():
            result = harness.finish(process)
            self.assertEqual(result.code, 0, f"{name}: {result}")
        self.assertEqual(harness.digest(self.folder / "out"), self.expected)

    def test_started_by_hand_on_one_host_in_any_order(self):
        address = f"127.0.0.1:{harness.free_port()}"
        member = ["--coordinator", address]
        # Workers and servers first: they wait for their coordinator.
        processes = {
            "worker 0": harness.start("worker", *member, "--data-folder",
                                      self.folder),
            "server 1": harness.start("server", *member, "--id", 1),
            "worker 1": harness.start("worker", *member, "--data-folder",
                                      self.folder),
            "server 0": harness.start("server", *member, "--id", 0),
        }
        processes["coordinator"] = harness.start(
            "coordinator", self.job, "--servers", 2, "--workers", 2,
            "--listen", address, "--output", self.folder / "out")
        self.finish_all(processes)

    def test_started_by_hand_in_two_network_namespaces(self):
        if os.geteuid() != 0 or shutil.which("ip") is None:
            self.skipTest("network namespaces need root and iproute2")
        try:
            hosts = Hosts()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"cannot make network namespaces: {error.stderr}")
        try:
            a, b = hosts.addresses
            member = ["--coordinator", f"{a}:7070"]
            data = ["--data-folder", self.folder]
            self.finish_all({
                "coordinator": hosts.start(
                    0, "coordinator", self.job, "--servers", 2, "--workers", 3,
                    "--listen", f"{a}:7070", "--output", self.folder / "out"),
                "server 0": hosts.start(0, "server", *member, "--listen",
                                        f"{a}:7071"),
                "server 1": hosts.start(1, "server", *member, "--listen",
                                        f"{b}:7071"),
                "worker 0": hosts.start(0, "worker", *member, *data),
                "worker 1": hosts.start(1, "worker", *member, *data),
                "worker 2": hosts.start(1, "worker", *member, *data),
            })
        finally:
            hosts.close()


if __name__ == "__main__":
    unittest.main()
