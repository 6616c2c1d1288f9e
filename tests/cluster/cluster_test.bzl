"""A test in Python that starts the real binary."""

load("//tools:python_test.bzl", "python_test")

def cluster_test(name, main, data = [], packages = False):
    """Runs `main` with the path of the binary as its argument.

    Args:
      name: the test's name.
      main: the script.
      data: more files it uses at run time.
      packages: whether it needs more than Python's standard library.
    """
    python_test(
        name = name,
        size = "large",
        srcs = ["harness.py"],
        args = ["$(location //cli:selari)"],
        data = ["//cli:selari"] + data,
        main = main,
        packages = packages,
    )
