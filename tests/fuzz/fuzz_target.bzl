"""Fuzz targets: one decoder of outside bytes each.

    fuzz_target(
        name = "idx",
        deps = ["//worker/data:idx"],
    )

expects idx_fuzz.cc to define LLVMFuzzerTestOneInput (libFuzzer's interface)
and selari::FuzzSeeds (fuzz_seeds.h). It makes

* idx_fuzz_smoke_test: a few thousand seeded mutations, in the normal suite;
* idx_fuzzer: the libFuzzer binary, for as long as one likes (needs clang):
  `bazel run --config=fuzz //tests/fuzz:idx_fuzzer -- -max_total_time=600`.
"""

def fuzz_target(name, deps):
    """A decoder's fuzz target, its smoke test and its libFuzzer binary.

    Args:
      name: of the decoder; the source is NAME_fuzz.cc.
      deps: what the source needs.
    """
    native.cc_library(
        name = name + "_fuzz",
        testonly = True,
        srcs = [name + "_fuzz.cc"],
        deps = deps + [":fuzz_seeds"],
        # libFuzzer finds the target by its name.
        alwayslink = True,
    )
    native.cc_test(
        name = name + "_fuzz_smoke_test",
        size = "small",
        srcs = ["smoke_main.cc"],
        deps = [
            ":fuzz_seeds",
            ":mutate",
            ":" + name + "_fuzz",
        ],
    )
    native.cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = [":" + name + "_fuzz"],
    )
