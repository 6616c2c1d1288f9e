#include "server/log/journal_test_util.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/random.h"
#include "server/log/journal_files.h"
#include "server/log/journal_replay.h"
#include "server/log/journal_writer.h"
#include "server/shard/shard.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/sync_simulation.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

void SetOptimizer(const std::string& name, v1::Optimizer* optimizer) {
  optimizer->clear_algorithm();
  optimizer->set_learning_rate(0.01);
  if (name == "adam") {
    optimizer->mutable_adam();
  } else if (name == "clipped_momentum") {
    optimizer->mutable_sgd()->set_momentum(0.9);
    optimizer->set_clip_global_norm(1);
  } else if (name == "clipped_lamb") {
    optimizer->mutable_lamb();
    optimizer->set_clip_global_norm(1);
  } else {
    SELARI_CHECK(name == "sgd");
    optimizer->mutable_sgd();
  }
}

std::vector<float> RandomGradient(int64_t count, uint64_t seed) {
  const RandomKey key = MakeRandomKey(seed, RandomStream::kTest, /*a=*/77);
  std::vector<float> gradient;
  for (int64_t i = 0; i < count; ++i) {
    gradient.push_back(static_cast<float>(RandomWord(key, i) % 2001) / 1000 -
                       1);
  }
  return gradient;
}

// Pushes of one worker: each chunk of a clock, in an order of its own.
class OrderedWorker {
 public:
  OrderedWorker(Shard* shard, int32_t id) : shard_(shard), id_(id) {
    Restart(/*clock=*/0);
  }

  // Another life, that goes on from a clock that the last one had pushed.
  void Restart(int64_t clock) {
    clock_ = clock;
    sequence_ = 0;
    index_ = 0;
    Shard::Replies replies;
    ++session_;
    shard_->OpenSession(session_, {id_, session_}, &replies);
  }

  void PushNext() {
    const auto chunks = shard_->state().chunks();
    const ChunkSpec& spec =
        chunks[(index_ + static_cast<size_t>(id_)) % chunks.size()];
    ChunkPush push;
    push.chunk = spec.chunk;
    push.step = clock_;
    push.sequence = ++sequence_;
    const std::vector<float> gradient = RandomGradient(
        spec.count,
        static_cast<uint64_t>(clock_ * 100 + id_ * 10 + spec.chunk));
    push.gradient =
        id_ == 0 ? MakeSlice(gradient) : MakeWireSlice(gradient, 7, 1);
    Shard::Replies replies;
    shard_->Handle(session_, push, &replies);
    SELARI_CHECK(RepliesTo<PushAck>(session_, replies).size() == 1);
    if (++index_ == chunks.size()) {
      index_ = 0;
      ++clock_;
    }
  }

 private:
  Shard* const shard_;
  const int32_t id_;
  uint64_t session_ = static_cast<uint64_t>(id_) * 1000;
  int64_t clock_ = 0;
  int64_t sequence_ = 0;
  size_t index_ = 0;
};

}  // namespace

std::vector<RecordedLog> RecordSync(const std::string& optimizer,
                                    const Tensors& tensors, int32_t shards,
                                    int64_t steps, uint64_t seed) {
  v1::ResolvedJob resolved = MakeTestJob(tensors);
  resolved.mutable_job()->mutable_cluster()->set_shard_count(shards);
  SetOptimizer(optimizer, resolved.mutable_job()->mutable_optimizer());
  const auto job = CreateJobOrDie(resolved);
  SyncSimulation::Options options;
  options.workers = 3;
  options.seed = seed;
  SyncSimulation simulation(job, options);
  simulation.CaptureAt(steps / 2);
  simulation.RunTo(steps);
  std::vector<RecordedLog> logs;
  for (int32_t shard = 0; shard < shards; ++shard) {
    RecordedLog log;
    log.job = job;
    log.shard = shard;
    log.ops = simulation.ops(shard);
    log.end = Fingerprint(simulation.shard(shard).state());
    for (const ShardSnapshot& snapshot : simulation.captured()) {
      if (snapshot.shard == shard) {
        log.snapshot = snapshot;
      }
    }
    logs.push_back(std::move(log));
  }
  return logs;
}

RecordedLog RecordOrdered(v1::Consistency mode, const Tensors& tensors,
                          int64_t clocks) {
  v1::ResolvedJob resolved = MakeTestJob(tensors);
  v1::Job& job = *resolved.mutable_job();
  job.mutable_cluster()->set_shard_count(1);
  job.mutable_consistency()->set_mode(mode);
  job.mutable_consistency()->set_staleness(mode == v1::CONSISTENCY_BOUNDED ? 100
                                                                           : 0);
  SetOptimizer("adam", job.mutable_optimizer());
  RecordedLog log;
  log.job = CreateJobOrDie(resolved);
  Shard shard(ShardState::Initial(log.job, 0), Shard::LogPosition(),
              [&log](const ShardOp& op) { log.ops.push_back(op); });
  std::vector<OrderedWorker> workers;
  for (int32_t id = 0; id < 3; ++id) {
    workers.emplace_back(&shard, id);
  }
  const RandomKey key = MakeRandomKey(1, RandomStream::kTest, /*a=*/5);
  const auto pushes = clocks * 3 * static_cast<int64_t>(tensors.size());
  for (int64_t i = 0; i < pushes; ++i) {
    if (i == pushes / 3) {
      workers[1].Restart(/*clock=*/0);
    }
    if (i == pushes / 2) {
      Shard::Replies replies;
      shard.Capture(
          /*step=*/-1, /*stop=*/false,
          [&log](absl::StatusOr<ShardSnapshot> snapshot) {
            SELARI_CHECK(snapshot.ok());
            log.snapshot = *std::move(snapshot);
          },
          &replies);
      SELARI_CHECK(log.snapshot.log_sequence ==
                   static_cast<int64_t>(log.ops.size()));
    }
    workers[RandomWord(key, i) % workers.size()].PushNext();
  }
  log.end = Fingerprint(shard.state());
  return log;
}

std::string Fingerprint(const ShardState& state) {
  std::string text = absl::StrCat(state.Digest(), " round ", state.round());
  for (size_t i = 0; i < state.chunks().size(); ++i) {
    absl::StrAppend(&text, state.reduced(i) ? " reduced" : " -");
  }
  for (const ReductionPartials& partials : state.RecentPartials()) {
    absl::StrAppend(&text, " ", partials.step, ".", partials.round, ".",
                    partials.chunk);
    for (const double sum : partials.sums) {
      absl::StrAppendFormat(&text, " %a", sum);
    }
  }
  return text;
}

std::vector<std::string> Fingerprints(const RecordedLog& log) {
  const auto state = ShardState::Initial(log.job, log.shard);
  std::vector<std::string> fingerprints = {Fingerprint(*state)};
  for (const ShardOp& op : log.ops) {
    ApplyEffects effects;
    state->Apply(op, &effects);
    fingerprints.push_back(Fingerprint(*state));
  }
  return fingerprints;
}

std::string WriteJournal(FileEnv* env, absl::string_view dir,
                         const RecordedLog& log, int64_t group) {
  auto writer = JournalWriter::Open(env, {std::string(dir), log.id()});
  SELARI_CHECK(writer.ok());
  SELARI_CHECK((*writer)->StartFile(0).ok());
  for (const ShardOp& op : log.ops) {
    SELARI_CHECK((*writer)->Append(op).ok());
    if ((*writer)->next_sequence() % group == 0) {
      SELARI_CHECK((*writer)->Commit().ok());
    }
  }
  SELARI_CHECK((*writer)->Commit().ok());
  const auto files = ListJournalFiles(*env, dir, log.shard);
  SELARI_CHECK(files.ok());
  return files->back().path;
}

Replayed ReplayJournal(FileEnv* env, absl::string_view dir,
                       const RecordedLog& log) {
  const auto state = ShardState::Initial(log.job, log.shard);
  auto contents = ReadJournal(*env, dir, log.id(), std::nullopt,
                              [&state](int64_t, const ShardOp& op) {
                                return ReplayOp(op, state.get()).status();
                              });
  return {std::move(contents), Fingerprint(*state)};
}

}  // namespace selari
