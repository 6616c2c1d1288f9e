"""Tools that know nothing of Selari can use it: `buf curl` through reflection,
and the Python example with nothing but proto/.
"""

import base64
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

import harness

EXAMPLES = pathlib.Path("examples/python")


def buf_curl(url, request=None):
    command = ["buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge"]
    if request is None:
        command += ["--list-services", url]
    else:
        command += ["-d", json.dumps(request), url]
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 0, f"{command}\n{result.stderr}"
    return result.stdout


class OpenContractTest(unittest.TestCase):

    def start_cluster(self, *arguments):
        """A coordinator and two servers; returns address and processes."""
        import socket
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.folder = harness.scratch("contract")
        processes = [harness.start(
            "coordinator", EXAMPLES / "softmax.textproto", "--listen",
            address, "--output", self.folder / "out", *arguments)]
        processes += [harness.start("server", "--coordinator", address)
                      for _ in range(2)]
        return address, processes

    def server_addresses(self, address):
        def ready():
            result = harness.run("status", "--coordinator", address, "--json")
            if result.code != 0:
                return None
            status = json.loads(result.stdout)
            servers = [m["address"] for m in status["members"]
                       if m["kind"] == "MEMBER_KIND_SERVER" and m["address"]]
            running = status["state"] != "JOB_STATE_INITIALIZING"
            return servers if len(servers) == 2 and running else None
        return harness.wait_until(ready, "two servers")

    def test_buf_curl_lists_describes_and_pulls(self):
        if shutil.which("buf") is None:
            self.skipTest("buf is not installed")
        address, processes = self.start_cluster()
        try:
            server = self.server_addresses(address)[0]
            services = buf_curl(f"http://{server}").split()
            self.assertIn("selari.v1.ParameterService", services)
            self.assertIn("selari.v1.ShardService", services)
            services = buf_curl(f"http://{address}").split()
            self.assertIn("selari.v1.CoordinatorService", services)
            base = f"http://{server}/selari.v1.ParameterService"

            def hosted():
                info = json.loads(buf_curl(f"{base}/GetTensor",
                                           {"name": "weight"}))["tensor"]
                chunks = [c for c in info["chunks"] if c.get("hostedHere")]
                return chunks and (info, chunks)
            info, chunks = harness.wait_until(hosted, "hosted chunks")
            self.assertEqual(info["spec"]["shape"], ["784", "10"])
            pulled = json.loads(buf_curl(f"{base}/PullTensor",
                                         {"name": "weight"}))
            piece = pulled["pieces"][0]
            data = base64.b64decode(piece["data"])
            self.assertEqual(len(data), 4 * int(piece["count"]))
            self.assertEqual(struct.unpack("<f", data[:4]), (0.0,))
        finally:
            for process in processes:
                process.terminate()
                harness.finish(process)

    def test_the_python_example_trains_against_the_servers(self):
        if not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
            self.skipTest("dataset-fashion-mnist is not installed")
        address, processes = self.start_cluster()
        script = subprocess.run(
            [sys.executable, EXAMPLES / "softmax_regression.py", address,
             "200"], capture_output=True, text=True, timeout=200)
        self.assertEqual(script.returncode, 0, script.stderr)
        accuracy = float(script.stdout.split()[-1])
        self.assertGreater(accuracy, 0.74, script.stdout)
        results = [harness.finish(process) for process in processes]
        for result in results:
            self.assertEqual(result.code, 0, str(result))
        # It does not count, which is not the same as nought.
        self.assertIn("worker 0    reported neither samples nor times",
                      results[0].stdout)
        self.assertNotIn("samples/s", results[0].stdout)


if __name__ == "__main__":
    unittest.main()
