"""Targets for libraries that the system's package manager installs."""

# Every Abseil library of Debian's libabsl-dev that a header may call into.
_ABSL_LIBS = [
    "flags_parse",
    "flags_usage",
    "flags_usage_internal",
    "flags_reflection",
    "flags_internal",
    "flags_marshalling",
    "flags_config",
    "flags_program_name",
    "flags_private_handle_accessor",
    "flags_commandlineflag",
    "flags_commandlineflag_internal",
    "failure_signal_handler",
    "examine_stack",
    "statusor",
    "status",
    "random_distributions",
    "random_seed_sequences",
    "random_seed_gen_exception",
    "random_internal_pool_urbg",
    "random_internal_randen",
    "random_internal_randen_hwaes",
    "random_internal_randen_hwaes_impl",
    "random_internal_randen_slow",
    "random_internal_seed_material",
    "random_internal_platform",
    "raw_hash_set",
    "hashtablez_sampler",
    "exponential_biased",
    "hash",
    "city",
    "low_level_hash",
    "cord",
    "cordz_info",
    "cordz_handle",
    "cordz_functions",
    "cord_internal",
    "bad_any_cast_impl",
    "bad_optional_access",
    "bad_variant_access",
    "synchronization",
    "graphcycles_internal",
    "symbolize",
    "stacktrace",
    "debugging_internal",
    "demangle_internal",
    "malloc_internal",
    "str_format_internal",
    "time",
    "civil_time",
    "time_zone",
    "strings",
    "strings_internal",
    "int128",
    "strerror",
    "throw_delegate",
    "base",
    "raw_logging_internal",
    "log_severity",
    "spinlock_wait",
]

def system_library(name, libs = [], deps = [], always = False, **kwargs):
    """A library found in the compiler's and linker's default search paths.

    Args:
      name: the target's name.
      libs: names for the linker (`-l`), dependents before dependencies.
      deps: other targets of //third_party that must be linked too.
      always: link it even if no symbol of it is referenced.
      **kwargs: passed to cc_library.
    """
    # Of the generous lists above, only what is used becomes a dependency of the
    # binary, which would otherwise load each at every start.
    needed = "--no-as-needed" if always else "--as-needed"
    linkopts = ["-Wl,--push-state," + needed]
    linkopts += ["-l" + lib for lib in libs]
    linkopts.append("-Wl,--pop-state")
    native.cc_library(name = name, linkopts = linkopts, deps = deps, **kwargs)

def absl_library(name, **kwargs):
    """One header family of Abseil; links whatever part of it is used."""
    system_library(name = name, libs = ["absl_" + lib for lib in _ABSL_LIBS], **kwargs)
