#include "server/shard/sync_simulation.h"

#include <algorithm>

#include "common/check.h"
#include "common/job_reduction.h"
#include "common/reduction_round.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/sync_reference.h"

namespace selari {

SyncSimulation::SyncSimulation(std::shared_ptr<const ShardJob> job,
                               const Options& options)
    : job_(std::move(job)),
      options_(options),
      key_(MakeRandomKey(options.seed, RandomStream::kTest, /*a=*/12345)),
      ops_(job_->layout.shard_count()),
      workers_(options.workers) {
  for (int32_t shard = 0; shard < job_->layout.shard_count(); ++shard) {
    std::unique_ptr<ShardState> state;
    if (options_.snapshots.empty()) {
      state = ShardState::Initial(job_, shard);
    } else {
      auto restored = ShardState::FromSnapshot(job_, options_.snapshots[shard]);
      SELARI_CHECK(restored.ok());
      state = *std::move(restored);
    }
    shards_.push_back(std::make_unique<Shard>(
        std::move(state), Shard::LogPosition(),
        [this, shard](const ShardOp& op) { ops_[shard].push_back(op); }));
  }
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    workers_[worker].identity = {static_cast<int32_t>(worker), 1000 + worker};
    workers_[worker].step = options_.first_step;
  }
}

void SyncSimulation::RunTo(int64_t step) {
  last_step_ = step;
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    Connect(worker);
    RequestPulls(worker);
  }
  for (;;) {
    while (!network_.empty()) {
      DeliverOne();
    }
    bool done = true;
    for (const Worker& worker : workers_) {
      done = done && worker.step == last_step_ && worker.pulls.empty();
    }
    if (done) {
      return;
    }
    // Everything in flight was lost: connections break.
    for (size_t worker = 0; worker < workers_.size(); ++worker) {
      Connect(worker);
    }
  }
}

uint32_t SyncSimulation::Random(uint32_t bound) {
  return RandomWord(key_, random_count_++) % bound;
}

// A new session in place of the old one; what has no answer is sent again.
void SyncSimulation::Connect(size_t index) {
  Worker& worker = workers_[index];
  const SessionId old_session = worker.session;
  worker.session = ++last_session_;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    Shard::Replies replies;
    shard->CloseSession(old_session);
    shard->OpenSession(worker.session, worker.identity, &replies);
    for (const Shard::Reply& reply : replies) {
      Take(index, reply.reply);
    }
  }
  for (const auto& [name, push] : worker.pushes) {
    Send(index, push);
  }
  for (const int32_t chunk : worker.pulls) {
    Send(index, PullOf(worker, chunk));
  }
}

ChunkPull SyncSimulation::PullOf(const Worker& worker, int32_t chunk) const {
  ChunkPull pull{chunk, worker.finds_step ? 0 : worker.step, 0};
  pull.exact = !options_.overlapping && !worker.finds_step;
  return pull;
}

// All that it knew is gone; what it sent may still arrive.
void SyncSimulation::Die(size_t index) {
  ++deaths_;
  Worker next;
  next.identity = {static_cast<int32_t>(index),
                   workers_[index].identity.incarnation + 1000};
  // The old session stays open, as what is on the way in it may still come.
  next.finds_step = true;
  workers_[index] = std::move(next);
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    workers_[index].pulls.insert(spec.chunk);
  }
  Connect(index);
}

void SyncSimulation::Send(size_t worker, ShardRequest request) {
  if (Random(100) < options_.lost_percent) {
    return;
  }
  Letter letter{worker, workers_[worker].session, std::move(request)};
  if (Random(100) < options_.repeated_percent) {
    network_.push_back(letter);
  }
  network_.push_back(std::move(letter));
}

// Any request may come next, whatever the order in which they were sent.
void SyncSimulation::DeliverOne() {
  std::swap(network_[Random(network_.size())], network_.back());
  Letter letter = std::move(network_.back());
  network_.pop_back();
  int32_t shard = 0;
  if (const auto* push = std::get_if<ChunkPush>(&letter.request)) {
    shard = job_->layout.chunk(push->chunk).shard;
  } else if (const auto* pull = std::get_if<ChunkPull>(&letter.request)) {
    shard = job_->layout.chunk(pull->chunk).shard;
  } else {
    shard = std::get<ReductionTotals>(letter.request).shard;
  }
  MaybeCapture();
  Shard::Replies replies;
  shards_[shard]->Handle(letter.session, std::move(letter.request), &replies);
  for (const Shard::Reply& reply : replies) {
    for (size_t worker = 0; worker < workers_.size(); ++worker) {
      if (workers_[worker].session == reply.session) {
        Take(worker, reply.reply);
      }
    }
  }
  if (Random(1000) < options_.death_permille) {
    Die(Random(static_cast<uint32_t>(workers_.size())));
  }
}

void SyncSimulation::Take(size_t index, const ShardReply& reply) {
  Worker& worker = workers_[index];
  if (const auto* ack = std::get_if<PushAck>(&reply)) {
    SELARI_CHECK(ack->version > ack->step);
    worker.pushes.erase({ack->chunk, ack->sequence});
  } else if (const auto* value = std::get_if<ChunkValue>(&reply)) {
    if ((value->version < worker.step && !worker.finds_step) ||
        worker.pulls.count(value->chunk) == 0) {
      return;  // of a pull that came twice
    }
    if (worker.finds_step) {
      worker.pulls.erase(value->chunk);
      worker.step = worker.pulled.empty()
                        ? value->version
                        : std::min(worker.step, value->version);
      worker.pulled[value->chunk] = {};
      if (worker.pulls.empty()) {
        worker.finds_step = false;
        worker.pulled.clear();
        RequestPulls(index);
      }
      return;
    }
    if (value->version > worker.step && !options_.overlapping) {
      return;  // of the search for the step, come twice
    }
    if (value->version > worker.step) {
      // The others did this worker's leaves of the step, too: it goes on with
      // theirs, as weights of two versions must not be mixed.
      worker.step = value->version;
      worker.pulled.clear();
      RequestPulls(index);
      return;
    }
    worker.pulls.erase(value->chunk);
    worker.pulled[value->chunk] = Values(value->weights);
    if (worker.pulls.empty() && worker.step < last_step_) {
      Compute(index);
    }
  } else if (const auto* partials = std::get_if<ReductionPartials>(&reply)) {
    TakePartials(index, *partials);
  } else {
    SELARI_CHECK(false && "refused");
  }
}

void SyncSimulation::TakePartials(size_t index,
                                  const ReductionPartials& partials) {
  auto& known = workers_[index].partials[{partials.step, partials.round}];
  known.emplace(partials.chunk, partials.sums);
  const absl::Span<const ChunkSpec> chunks = job_->layout.chunks();
  if (known.size() < chunks.size()) {
    return;
  }
  // Also when a repeat comes: the totals may have been lost.
  std::vector<int32_t> tensors;
  std::vector<double> sums;
  for (const auto& [chunk, of_chunk] : known) {
    tensors.push_back(job_->layout.chunk(chunk).tensor);
    sums.insert(sums.end(), of_chunk.begin(), of_chunk.end());
  }
  const std::vector<double> totals =
      CombinePartials(job_->optimizer->Round(partials.round), tensors,
                      job_->layout.tensor_count(), sums);
  for (int32_t shard = 0; shard < job_->layout.shard_count(); ++shard) {
    Send(index, ReductionTotals{partials.step, partials.round, shard, totals});
  }
}

// Pushes the worker's leaves of every chunk and asks for the next weights.
void SyncSimulation::Compute(size_t index) {
  Worker& worker = workers_[index];
  const LeafRange leaves =
      job_->tree.LeavesOfWorker(static_cast<int32_t>(index), options_.workers);
  // The same nodes for all chunks: then a step that is done for one chunk will
  // be done for all, whoever skips it.
  std::vector<TreeNode> nodes;
  if (options_.overlapping) {
    Cover(job_->tree.root(), leaves, &nodes);
  } else {
    nodes = job_->tree.Cover(leaves);
  }
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    for (const TreeNode& node : nodes) {
      ChunkPush push;
      push.chunk = spec.chunk;
      push.step = worker.step;
      push.node = node;
      push.sequence = ++worker.sequences[spec.shard];
      const std::vector<float> gradient = NodeGradient(
          *job_, spec.chunk, worker.step, node, worker.pulled[spec.chunk]);
      // Bits must not depend on how the gradient arrives.
      push.gradient =
          index % 2 == 0 ? MakeSlice(gradient) : MakeWireSlice(gradient, 61, 1);
      worker.pushes[{spec.chunk, push.sequence}] = push;
      Send(index, push);
    }
  }
  ++worker.step;
  worker.pulled.clear();
  RequestPulls(index);
}

// Random nodes that cover at least `leaves`, and sometimes more.
void SyncSimulation::Cover(TreeNode node, LeafRange leaves,
                           std::vector<TreeNode>* cover) {
  if (!job_->tree.Contains(node)) {
    return;
  }
  const LeafRange own = job_->tree.Leaves(node);
  const bool wanted = own.begin < leaves.end && leaves.begin < own.end;
  const bool inside = leaves.begin <= own.begin && own.end <= leaves.end;
  if (!wanted) {
    if (Random(8) == 0) {
      cover->push_back(node);
    }
    return;
  }
  if (node.level == 0 || Random(inside ? 2 : 8) == 0) {
    cover->push_back(node);
    return;
  }
  Cover({node.level - 1, 2 * node.index}, leaves, cover);
  Cover({node.level - 1, 2 * node.index + 1}, leaves, cover);
}

void SyncSimulation::RequestPulls(size_t index) {
  Worker& worker = workers_[index];
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    worker.pulls.insert(spec.chunk);
    Send(index, PullOf(worker, spec.chunk));
  }
}

// At a random moment before the step is reached.
void SyncSimulation::MaybeCapture() {
  if (!capture_step_.has_value()) {
    return;
  }
  int64_t version = 0;
  bool reduced = false;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    const ShardState& state = shard->state();
    version = std::max(version, state.max_version());
    for (size_t i = 0; i < state.chunks().size(); ++i) {
      reduced =
          reduced || (state.version(i) == *capture_step_ && state.reduced(i));
    }
  }
  if (version < *capture_step_ && Random(500) != 0) {
    return;
  }
  // At the last moment, when gradients of the next update wait for totals.
  const bool later = !ReductionRoundsOfJob(job_->resolved.job()).empty();
  if (version == *capture_step_ && later && !reduced) {
    return;
  }
  for (const std::unique_ptr<Shard>& shard : shards_) {
    Shard::Replies replies;
    shard->Capture(
        *capture_step_, /*stop=*/false,
        [this](absl::StatusOr<ShardSnapshot> snapshot) {
          SELARI_CHECK(snapshot.ok());
          captured_.push_back(*std::move(snapshot));
        },
        &replies);
  }
  capture_step_.reset();
}

}  // namespace selari
