"""Compiles the same kernels for several levels of x86-64.

    isa_cc_library(
        name = "gemm",
        srcs = ["gemm.cc"],
        hdrs = ["gemm.h"],
        deps = ["//third_party:eigen"],
    )

Each source is compiled three times, with SELARI_ISA_NAMESPACE defined as
isa_v2, isa_v3 and isa_v4 and SELARI_ISA_LEVEL as 2, 3 and 4; it puts all its
code into `namespace SELARI_ISA_NAMESPACE`. The caller picks one at run time.

Two rules keep instructions of one level out of the others:

* `Eigen` is renamed per level, so that the linker never merges two copies of
  one of its templates.
* Whatever else a source instantiates (std::vector, absl, ...) would be merged
  by the linker, and an old processor could then run a copy compiled for a new
  one. The test `NAME_isa_symbols_test` fails if an object for v3 or v4 defines
  a symbol, weak or strong, that does not carry its own namespace.
"""

ISA_LEVELS = [2, 3, 4]

def isa_cc_library(name, srcs, hdrs = [], deps = [], copts = [], visibility = None, **kwargs):
    """A cc_library of all levels together, and the test that they stay apart.

    Args:
      name: the library to depend on.
      srcs: sources to compile once per level.
      hdrs: headers; they must not define functions outside the namespace.
      deps: dependencies, with the same restriction on what is used of them.
      copts: further options for every level.
      visibility: as usual.
      **kwargs: passed to each level's cc_library.
    """
    for level in ISA_LEVELS:
        native.cc_library(
            name = "%s_isa_v%d" % (name, level),
            srcs = srcs,
            hdrs = hdrs,
            copts = [
                "-O3",
                "-march=x86-64-v%d" % level,
                "-ffp-contract=off",
                "-DSELARI_ISA_LEVEL=%d" % level,
                "-DSELARI_ISA_NAMESPACE=isa_v%d" % level,
                "-DEigen=EigenIsaV%d" % level,
            ] + copts,
            linkstatic = True,
            visibility = ["//visibility:private"],
            deps = deps,
            **kwargs
        )
    native.cc_library(
        name = name,
        hdrs = hdrs,
        testonly = kwargs.get("testonly", False),
        visibility = visibility,
        deps = deps + [":%s_isa_v%d" % (name, level) for level in ISA_LEVELS],
    )
    archives = []
    for level in ISA_LEVELS[1:]:
        archive = "%s_isa_v%d_archive" % (name, level)
        native.filegroup(
            name = archive,
            testonly = kwargs.get("testonly", False),
            srcs = [":%s_isa_v%d" % (name, level)],
            output_group = "archive",
        )
        archives.append(archive)
    native.sh_test(
        name = name + "_isa_symbols_test",
        size = "small",
        srcs = ["//tools:isa_symbols_test.sh"],
        args = ["$(locations :%s)" % archive for archive in archives],
        data = archives,
        # Such builds run on the machine that made them.
        tags = ["no_sanitizer"],
    )
