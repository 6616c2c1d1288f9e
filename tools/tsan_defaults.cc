// Suppressions of ThreadSanitizer, with their reason; --config=tsan links this
// into every binary.
//
// Debian's gRPC and what it stands on are not built with ThreadSanitizer. They
// hand work from one thread to another through locks and atomics that it cannot
// see (absl::Mutex is no pthread mutex), so that whatever one thread gives to
// gRPC and a callback on another takes up looks like a race: gRPC's own objects
// and ours behind them.
//
// * "race:": a report is dropped when one of its stacks runs through gRPC or
//   through its templates inside our binary.
// * "called_from_lib:": what these libraries themselves do to memory and file
//   descriptors (memmove, free, epoll_wait) is not looked at.
// * "basic_string::_M_mutate", "_M_replace_aux": the same for a string that
//   grows in them, as in gRPC's reflection. The stack then ends in libstdc++,
//   which keeps no frame pointers, and does not show who called.
//
// * "absl::Status::Unref": copies of a status share a count that is raised in
//   our code but lowered in Abseil's library, which also frees it; so the last
//   owner seems to free what another one was just counting.
//
// Races between our own threads are still found, in the same code too, as soon
// as a test calls it without gRPC in between: the tests of shard, client and
// coordinator do.

static const char kSuppressions[] =
    "race:libgrpc.so\n"
    "race:libgrpc++.so\n"
    "race:^grpc::\n"
    "race:^std::*grpc::\n"
    "race:^std::__cxx11::basic_string<*>::_M_mutate(\n"
    "race:^std::__cxx11::basic_string<*>::_M_replace_aux(\n"
    "race:^absl::*::Status::Unref(\n"
    "called_from_lib:libabsl_bad_any_cast_impl.so\n"
    "called_from_lib:libabsl_bad_optional_access.so\n"
    "called_from_lib:libabsl_bad_variant_access.so\n"
    "called_from_lib:libabsl_base.so\n"
    "called_from_lib:libabsl_city.so\n"
    "called_from_lib:libabsl_civil_time.so\n"
    "called_from_lib:libabsl_cord.so\n"
    "called_from_lib:libabsl_cord_internal.so\n"
    "called_from_lib:libabsl_cordz_functions.so\n"
    "called_from_lib:libabsl_cordz_handle.so\n"
    "called_from_lib:libabsl_cordz_info.so\n"
    "called_from_lib:libabsl_cordz_sample_token.so\n"
    "called_from_lib:libabsl_debugging_internal.so\n"
    "called_from_lib:libabsl_demangle_internal.so\n"
    "called_from_lib:libabsl_examine_stack.so\n"
    "called_from_lib:libabsl_exponential_biased.so\n"
    "called_from_lib:libabsl_failure_signal_handler.so\n"
    "called_from_lib:libabsl_flags_commandlineflag.so\n"
    "called_from_lib:libabsl_flags_commandlineflag_internal.so\n"
    "called_from_lib:libabsl_flags_config.so\n"
    "called_from_lib:libabsl_flags_internal.so\n"
    "called_from_lib:libabsl_flags_marshalling.so\n"
    "called_from_lib:libabsl_flags_parse.so\n"
    "called_from_lib:libabsl_flags_private_handle_accessor.so\n"
    "called_from_lib:libabsl_flags_program_name.so\n"
    "called_from_lib:libabsl_flags_reflection.so\n"
    "called_from_lib:libabsl_flags_usage.so\n"
    "called_from_lib:libabsl_flags_usage_internal.so\n"
    "called_from_lib:libabsl_graphcycles_internal.so\n"
    "called_from_lib:libabsl_hash.so\n"
    "called_from_lib:libabsl_hashtablez_sampler.so\n"
    "called_from_lib:libabsl_int128.so\n"
    "called_from_lib:libabsl_leak_check.so\n"
    "called_from_lib:libabsl_log_severity.so\n"
    "called_from_lib:libabsl_low_level_hash.so\n"
    "called_from_lib:libabsl_malloc_internal.so\n"
    "called_from_lib:libabsl_periodic_sampler.so\n"
    "called_from_lib:libabsl_random_distributions.so\n"
    "called_from_lib:libabsl_random_internal_platform.so\n"
    "called_from_lib:libabsl_random_internal_pool_urbg.so\n"
    "called_from_lib:libabsl_random_internal_randen.so\n"
    "called_from_lib:libabsl_random_internal_randen_hwaes.so\n"
    "called_from_lib:libabsl_random_internal_randen_hwaes_impl.so\n"
    "called_from_lib:libabsl_random_internal_randen_slow.so\n"
    "called_from_lib:libabsl_random_internal_seed_material.so\n"
    "called_from_lib:libabsl_random_seed_gen_exception.so\n"
    "called_from_lib:libabsl_random_seed_sequences.so\n"
    "called_from_lib:libabsl_raw_hash_set.so\n"
    "called_from_lib:libabsl_raw_logging_internal.so\n"
    "called_from_lib:libabsl_spinlock_wait.so\n"
    "called_from_lib:libabsl_stacktrace.so\n"
    "called_from_lib:libabsl_status.so\n"
    "called_from_lib:libabsl_statusor.so\n"
    "called_from_lib:libabsl_str_format_internal.so\n"
    "called_from_lib:libabsl_strerror.so\n"
    "called_from_lib:libabsl_strings.so\n"
    "called_from_lib:libabsl_strings_internal.so\n"
    "called_from_lib:libabsl_symbolize.so\n"
    "called_from_lib:libabsl_synchronization.so\n"
    "called_from_lib:libabsl_throw_delegate.so\n"
    "called_from_lib:libabsl_time.so\n"
    "called_from_lib:libabsl_time_zone.so\n"
    "called_from_lib:libaddress_sorting.so\n"
    "called_from_lib:libcares.so\n"
    "called_from_lib:libcrypto.so\n"
    "called_from_lib:libgpr.so\n"
    "called_from_lib:libgrpc.so\n"
    "called_from_lib:libgrpc++.so\n"
    "called_from_lib:libgrpc++_error_details.so\n"
    "called_from_lib:libgrpc++_reflection.so\n"
    "called_from_lib:libprotobuf.so\n"
    "called_from_lib:libre2.so\n"
    "called_from_lib:libssl.so\n"
    "called_from_lib:libupb.so\n";

// The name is the sanitizer's. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() { return kSuppressions; }
