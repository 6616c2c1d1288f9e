"""A Python script that drives the binary, run by the system's Python."""

def cluster_test(name, data = [], **kwargs):
    """A test that runs NAME.py with the binary's path as first argument.

    Args:
      name: the test's name; its script is NAME.py.
      data: more files.
      **kwargs: passed to sh_test.
    """
    native.sh_test(
        name = name,
        srcs = [":cluster_test.sh"],
        args = [
            "$(location %s.py)" % name,
            "$(location //cli:selari)",
        ],
        data = [
            name + ".py",
            "harness.py",
            "//cli:selari",
        ] + data,
        **kwargs
    )
