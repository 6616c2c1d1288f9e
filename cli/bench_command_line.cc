#include "cli/bench_command_line.h"

#include <utility>

#include "cli/option_parts.h"

namespace selari {
namespace {

class BenchBuilder {
 public:
  BenchBuilder(CLI::App* app, BenchCommands* commands, SelectCommand select)
      : app_(app), commands_(commands), select_(std::move(select)) {}

  void Add() {
    CLI::App* command = app_->add_subcommand(
        "bench",
        "Measure what this machine and its network give, and how near Selari "
        "comes to it.");
    command->require_subcommand(1);
    command->footer(
        "Examples:\n"
        "  selari bench wire\n"
        "  selari bench wire --json\n"
        "  selari bench apply --workers 2\n"
        "  selari bench kernels\n"
        "  selari bench step job.textproto");
    AddBenchWire(command);
    AddBenchApply(command);
    AddBenchKernels(command);
    AddBenchStep(command);
  }

 private:
  template <class Options>
  void Select(CLI::App* command, const Options* options) {
    command->callback([select = select_, options] {
      select([options] { return Command(*options); });
    });
  }

  void AddRepeatsAndJson(CLI::App* command, int32_t* repeats, bool* json) {
    command
        ->add_option("--repeats", *repeats,
                     "Rounds that count, after one to warm up")
        ->capture_default_str()
        ->check(Between(1, 1000));
    command->add_flag("--json", *json,
                      "Print one JSON object and nothing else");
  }

  void AddBenchApply(CLI::App* bench) {
    CLI::App* command = bench->add_subcommand(
        "apply",
        "Gradients through one shard on one core with each optimizer, beside "
        "memcpy in the same run.");
    command->footer(
        "Examples:\n"
        "  selari bench apply\n"
        "  selari bench apply --megabytes 256 --workers 4 --json");
    Select(command, &commands_->apply);
    command
        ->add_option("--megabytes", commands_->apply.megabytes,
                     "Size of the model, in units of 2^20 bytes")
        ->capture_default_str()
        ->check(Between(1, 65536));
    command
        ->add_option("--workers", commands_->apply.workers,
                     "Workers whose gradients are summed")
        ->capture_default_str()
        ->check(Between(1, 64));
    AddRepeatsAndJson(command, &commands_->apply.repeats,
                      &commands_->apply.json);
  }

  void AddBenchKernels(CLI::App* bench) {
    CLI::App* command = bench->add_subcommand(
        "kernels",
        "The operations of training on one core, beside memcpy and "
        "multiply-adds in registers in the same run.");
    command->footer(
        "Examples:\n"
        "  selari bench kernels\n"
        "  selari bench kernels --repeats 9 --json");
    Select(command, &commands_->kernels);
    AddRepeatsAndJson(command, &commands_->kernels.repeats,
                      &commands_->kernels.json);
  }

  void AddBenchWire(CLI::App* bench) {
    CLI::App* command = bench->add_subcommand(
        "wire",
        "Push and pull beside raw TCP and bare gRPC between the same two "
        "processes, in turns. Every weight that arrives is compared to the "
        "bit.");
    command->footer(
        "Examples:\n"
        "  selari bench wire\n"
        "  selari bench wire --megabytes 64 --optimizer adam --workers 2\n"
        "Between two machines, on 10.0.0.2 and then on the other:\n"
        "  selari bench wire --listen 10.0.0.2:7080\n"
        "  selari bench wire --connect 10.0.0.2:7080 --json");
    Select(command, &commands_->wire);
    CLI::Option* listen =
        command
            ->add_option("--listen", commands_->wire.listen,
                         "Be the peer of another machine's bench: serve on "
                         "host:port, and gRPC on the port after it, until "
                         "Ctrl-C. Nothing is encrypted")
            ->check(HostAndPort());
    command
        ->add_option("--connect", commands_->wire.connect,
                     "Measure to the peer at host:port. Default: to a second "
                     "process on this machine")
        ->check(HostAndPort())
        ->excludes(listen);
    command
        ->add_option("--megabytes", commands_->wire.megabytes,
                     "Size of the model, in units of 2^20 bytes")
        ->capture_default_str()
        ->check(Between(1, 65536));
    command->add_option("--optimizer", commands_->wire.optimizer, "sgd or adam")
        ->capture_default_str()
        ->check(CLI::IsMember({"sgd", "adam"}));
    command
        ->add_option("--workers", commands_->wire.workers,
                     "Workers, each of which moves the whole model")
        ->capture_default_str()
        ->check(Between(1, 64));
    command->add_option("--shards", commands_->wire.shards, "Logical shards")
        ->capture_default_str()
        ->check(Between(1, 4096));
    command
        ->add_option("--streams", commands_->wire.streams,
                     "Streams to the server; 0: as in training")
        ->capture_default_str()
        ->check(Between(0, 64));
    command
        ->add_option("--frame-kib", commands_->wire.frame_kib,
                     "Size of the messages that are pushed, in units of 2^10 "
                     "bytes; 0: as in training")
        ->capture_default_str()
        ->check(Between(0, 4000));
    command->add_flag("--no-shared-memory", commands_->wire.no_shared_memory,
                      "Send all tensors in messages, also to a peer on this "
                      "machine (cluster.shared_memory)");
    command
        ->add_option("--steps", commands_->wire.steps,
                     "Single steps of a model of 10 kB; 0: none")
        ->capture_default_str()
        ->check(Between(0, 1000000));
    AddRepeatsAndJson(command, &commands_->wire.repeats, &commands_->wire.json);
  }

  void AddBenchStep(CLI::App* bench) {
    CLI::App* command = bench->add_subcommand(
        "step",
        "Training steps of a job in this one process: samples per second, and "
        "where the time goes. Writes nothing.");
    command->footer(
        "Examples:\n"
        "  selari bench step job.textproto\n"
        "  selari bench step job.textproto --set training.batch_size=512 "
        "--json");
    Select(command, &commands_->step);
    AddJobFile(command, &commands_->step.job_file);
    AddAssignments(command, &commands_->step.assignments);
    command
        ->add_option("--steps", commands_->step.steps,
                     "Steps that count, after 30 to warm up")
        ->capture_default_str()
        ->check(Between(1, int64_t{1} << 40));
    command
        ->add_option("--threads", commands_->step.threads,
                     "Compute threads (cluster.worker_threads)")
        ->check(Between(1, kThreadsMax));
    command
        ->add_option("--repeats", commands_->step.repeats,
                     "Parts of the steps, whose median and spread are told")
        ->capture_default_str()
        ->check(Between(1, 1000));
    command->add_flag("--json", commands_->step.json,
                      "Print one JSON object and nothing else");
  }

  CLI::App* const app_;
  BenchCommands* const commands_;
  const SelectCommand select_;
};

}  // namespace

void AddBench(CLI::App* app, BenchCommands* commands,
              const SelectCommand& select) {
  BenchBuilder(app, commands, select).Add();
}

}  // namespace selari
