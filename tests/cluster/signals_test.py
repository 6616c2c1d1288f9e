"""SIGTERM and Ctrl-C at each phase: the run is saved, every process ends, and
what was saved goes on to the same bits.
"""

import json
import os
import shlex
import signal
import unittest

import harness

LONG = "training { batch_size: 48 steps: 20000 log_every_steps: 10 }\n"


class SignalsTest(unittest.TestCase):

    def setUp(self):
        self.folder = harness.scratch("signals")
        self.job = harness.write_job(self.folder, harness.DATA, harness.MLP,
                                     harness.ADAM, LONG)

    def start(self, *arguments):
        return harness.start("train", self.job, "--output",
                             self.folder / "out", "--json", *arguments)

    def read_until(self, process, event):
        """Reads events, or lines with a text, up to the first one."""
        for line in process.stdout:
            if f'"event":"{event}"' in line or (
                    not line.startswith("{") and event in line):
                return line
        raise AssertionError(f"no {event} event: {harness.finish(process)}")

    def stop_in_training(self, number, *shape):
        process = self.start(*shape)
        self.read_until(process, "progress")
        children = harness.children_of(process.pid)
        process.send_signal(number)
        result = harness.finish(process)
        self.assertEqual(result.code, 128 + number, str(result))
        self.assertEqual(result.summary["state"], "stopped")
        self.assertTrue(result.summary["checkpoint"].endswith(
            f"step-{result.summary['steps']:09}"), result.summary)
        status = harness.run("status", "--output", self.folder / "out")
        self.assertIn(f"step {result.summary['steps']}/", status.stdout)
        for child in children:
            self.assertFalse(harness.alive(child), child)
        return result.summary

    def test_sigterm_of_a_member_stops_the_job_and_is_told(self):
        process = self.start("--servers", 1, "--workers", 2)
        self.read_until(process, "progress")
        worker = sorted(harness.children_of(process.pid))[-1]
        os.kill(worker, signal.SIGTERM)
        result = harness.finish(process)
        self.assertEqual(result.code, 1, str(result))
        self.assertEqual(result.summary["state"], "stopped")
        self.assertIn(f"step {result.summary['steps']} of 20000", result.stderr)

    def test_ctrl_c_in_a_cluster_saves_and_the_rest_gives_the_same_bits(self):
        summary = self.stop_in_training(signal.SIGINT, "--servers", 2,
                                        "--workers", 2)
        self.assertGreater(summary["steps"], 0)
        self.assertLess(summary["steps"], 20000)
        steps = summary["steps"] + 100
        harness.train(self.job, self.folder / "out", "--servers", 1,
                      "--workers", 3, "--resume", "--steps", steps)
        harness.train(self.job, self.folder / "whole", "--centralised",
                      "--steps", steps)
        self.assertEqual(harness.digest(self.folder / "out"),
                         harness.digest(self.folder / "whole"))

    def test_the_command_of_the_summary_goes_on_to_the_bits_of_a_whole_run(self):
        self.job.write_text(self.job.read_text().replace(
            "learning_rate", "schedule { cosine {} } learning_rate"))
        shape = ["--servers", 1, "--workers", 2, "--steps", 3000]
        summary = self.stop_in_training(signal.SIGINT, *shape)
        self.assertLess(summary["steps"], 3000)
        command = shlex.split(summary["resume_command"])
        self.assertEqual(command[0], harness.BINARY)
        result = harness.run(*command[1:])
        self.assertEqual(result.code, 0, str(result))
        harness.train(self.job, self.folder / "whole", "--centralised",
                      "--steps", 3000)
        self.assertEqual(harness.digest(self.folder / "out"),
                         harness.digest(self.folder / "whole"))

    def test_sigterm_in_one_process(self):
        summary = self.stop_in_training(signal.SIGTERM, "--centralised")
        self.assertEqual(harness.digest(self.folder / "out"),
                         summary["digest"])

    def test_sigterm_while_members_join(self):
        for shape in [["--centralised"], ["--servers", 2, "--workers", 2]]:
            process = self.start(*shape)
            self.read_until(process, "start")
            process.send_signal(signal.SIGTERM)
            result = harness.finish(process)
            self.assertIn(result.code, [1, 128 + signal.SIGTERM], str(result))
            self.assertNotIn("is killed", result.stdout)
            left = list((self.folder / "out").glob("checkpoints/.tmp*"))
            self.assertEqual(left, [])
            self.folder = harness.scratch("signals")
            self.job = harness.write_job(self.folder, harness.DATA,
                                         harness.MLP, harness.ADAM, LONG)

    def test_two_signals_end_at_once_and_it_is_told(self):
        process = self.start("--servers", 1, "--workers", 1)
        self.read_until(process, "progress")
        children = harness.children_of(process.pid)
        # No checkpoint can be saved, so only a further signal ends the run.
        os.kill(min(children), signal.SIGSTOP)

        def ended():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None

        harness.wait_until(ended, "a second signal to end the run")
        result = harness.finish(process)
        self.assertEqual(result.code, 130, str(result))
        self.assertEqual(result.stderr.count("ended at once by a second signal,"
                                             " without a checkpoint"), 1)
        for child in children:
            harness.wait_until(lambda: not harness.alive(child),
                               f"process {child} to end")

    def test_a_program_that_signals_twice_at_once_means_one_wish(self):
        process = self.start("--servers", 1, "--workers", 1)
        self.read_until(process, "progress")
        # As timeout(1) does: the process, then its group. Of the two, the
        # kernel may make one, and either way the run is saved.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        result = harness.finish(process)
        self.assertEqual(result.summary["state"], "stopped")
        self.assertTrue(result.summary["checkpoint"], str(result))

    def test_a_killed_parent_leaves_no_process_behind(self):
        process = self.start("--servers", 2, "--workers", 2)
        self.read_until(process, "progress")
        children = harness.children_of(process.pid)
        self.assertEqual(len(children), 4)
        running = harness.run("status", "--output", self.folder / "out")
        self.assertIn(f"; process {process.pid} runs it", running.stdout)
        process.kill()
        process.wait()
        for child in children:
            harness.wait_until(lambda: not harness.alive(child),
                               f"process {child} to end")
        killed = harness.run("status", "--output", self.folder / "out")
        self.assertEqual(killed.code, 0, str(killed))
        self.assertIn("no process holds this run any more", killed.stdout)
        self.assertRegex(killed.stdout, r"last heard of [0-9.]+ s ago")
        killed = harness.run("status", "--json", "--output",
                             self.folder / "out")
        self.assertTrue(json.loads(killed.stdout)["abandoned"])
        process.stdout.close()
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
