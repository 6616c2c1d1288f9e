"""Tests written in Python, run with the packages of tools/requirements.txt.

    python_test(
        name = "export_test",
        main = "export_test.py",
        data = ["//cli:selari"],
        args = ["$(location //cli:selari)"],
    )

The script runs in the runfiles folder of the workspace (`common/...` is
./common/...), with that folder on PYTHONPATH and the environment's tools, such
as buf, first on PATH. $TEST_TMPDIR is its scratch folder. Use unittest or plain
asserts; what counts is the exit code.
"""

def python_test(name, main, srcs = [], data = [], args = [], packages = True, tags = [], **kwargs):
    """A test that runs `main`.

    Args:
      name: the test's name.
      main: the script.
      srcs: modules it imports.
      data: files it uses at run time.
      args: its arguments.
      packages: False if Python's standard library is all it needs.
      tags: as usual.
      **kwargs: passed to sh_test.
    """
    environment = [
        "//tools:requirements.txt",
        "//tools:venv.sh",
    ]
    native.sh_test(
        name = name,
        srcs = ["//tools:python_test.sh"],
        args = ([] if packages else ["--plain"]) + ["$(location %s)" % main] + args,
        data = [main] + srcs + data + (environment if packages else []),
        # Whether the environment can be made is no input that Bazel knows of:
        # a result with "skipped" must not be remembered. `./selari test` makes
        # the environment first if it sees the other tag.
        tags = tags + (["external", "python_packages"] if packages else []),
        **kwargs
    )
