"""The Python environment of the tests has what they import."""

import pathlib
import shutil
import sys
import unittest


class VenvTest(unittest.TestCase):
    def test_interpreter_is_the_environments_own(self):
        self.assertNotEqual(sys.prefix, sys.base_prefix)

    def test_packages_import(self):
        # pylint: disable=unused-import
        import google.protobuf
        import grpc
        import grpc_tools.protoc
        import numpy
        import safetensors.numpy
        from tensorboard.backend.event_processing import event_accumulator

    def test_buf_comes_first_on_path(self):
        buf = pathlib.Path(shutil.which("buf"))
        self.assertEqual(buf.parent, pathlib.Path(sys.prefix) / "bin")


if __name__ == "__main__":
    unittest.main()
