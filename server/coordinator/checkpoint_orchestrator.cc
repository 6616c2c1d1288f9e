#include "server/coordinator/checkpoint_orchestrator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/job_compression.h"
#include "common/status.h"

namespace selari {
namespace {

int64_t NextMultiple(int64_t after, int64_t interval) {
  return interval > 0 ? (after / interval + 1) * interval : 0;
}

}  // namespace

CheckpointOrchestrator::CheckpointOrchestrator(const v1::ResolvedJob& job,
                                               Environment environment)
    : job_(job), environment_(std::move(environment)) {
  newest_.step = -1;
}

std::set<size_t> CheckpointOrchestrator::AllServers() const {
  std::set<size_t> indexes;
  for (size_t i = 0; i < servers_.size(); ++i) {
    indexes.insert(i);
  }
  return indexes;
}

std::string CheckpointOrchestrator::ServerName(size_t server) const {
  return absl::StrCat("server ", servers_[server].id);
}

void CheckpointOrchestrator::Start(std::vector<Server> servers, int64_t step,
                                   bool anew) {
  SELARI_CHECK(!servers.empty());
  servers_ = std::move(servers);
  start_step_ = step;
  anew_ = anew;
  progress_step_ = step;
  // A checkpoint that is there already need not be taken again.
  next_periodic_step_ = NextMultiple(std::max(step, newest_.step),
                                     job_.job().checkpointing().every_steps());
  ArmPeriodic();
}

void CheckpointOrchestrator::OnProgress(int64_t step) {
  progress_step_ = std::max(progress_step_, step);
  const int64_t every_steps = job_.job().checkpointing().every_steps();
  if (sync() || every_steps == 0 || stopping_ || aborted_ ||
      step < next_periodic_step_ ||
      (job_.total_steps() > 0 && step >= job_.total_steps())) {
    return;
  }
  next_periodic_step_ = NextMultiple(step, every_steps);
  Enqueue({});
}

void CheckpointOrchestrator::Save(Done done) {
  Request request;
  request.done.push_back(std::move(done));
  Enqueue(std::move(request));
}

void CheckpointOrchestrator::SaveAndStop(Done done) {
  Request request;
  request.stop = true;
  request.done.push_back(std::move(done));
  Enqueue(std::move(request));
  stopping_ = true;
}

void CheckpointOrchestrator::Abort(const absl::Status& status) {
  aborted_ = true;
  abort_status_ = status;
  Drop(status, /*publishing_too=*/true);
}

void CheckpointOrchestrator::Interrupt(const absl::Status& status) {
  ++generation_;
  servers_.clear();
  stopping_ = false;
  Drop(status, /*publishing_too=*/false);
}

void CheckpointOrchestrator::Drop(const absl::Status& status,
                                  bool publishing_too) {
  std::vector<Done> done;
  const auto take = [&done](std::vector<Done>* from) {
    std::move(from->begin(), from->end(), std::back_inserter(done));
    from->clear();
  };
  if (pause_ != nullptr) {
    take(&pause_->request.done);
  }
  for (Request& request : requests_) {
    take(&request.done);
  }
  for (auto it = captures_.begin(); it != captures_.end();) {
    Capture& capture = it->second;
    if (capture.publishing && !publishing_too) {
      ++it;
      continue;
    }
    take(&capture.done);
    environment_.post_io(
        [store = environment_.store, directory = capture.directory] {
          store->Discard(directory);
        });
    it = captures_.erase(it);
  }
  pause_.reset();
  requests_.clear();
  for (const Done& each : done) {
    each(status);
  }
}

std::string CheckpointOrchestrator::Describe() const {
  if (pause_ != nullptr) {
    std::vector<std::string> names;
    for (const size_t server : pause_->waiting) {
      names.push_back(ServerName(server));
    }
    return absl::StrCat("a checkpoint waits for ", absl::StrJoin(names, ", "),
                        " to pause");
  }
  for (const auto& [id, capture] : captures_) {
    if (capture.publishing) {
      return absl::StrCat("the checkpoint at step ", StepOf(capture),
                          " is being published");
    }
    if (capture.stop || !capture.done.empty()) {
      std::vector<std::string> names;
      for (const size_t server : capture.waiting) {
        names.push_back(ServerName(server));
      }
      return absl::StrCat("the checkpoint at step ", StepOf(capture),
                          " waits for the files of ",
                          absl::StrJoin(names, ", "));
    }
  }
  return "";
}

// Requests: a cut at the nearest step.

void CheckpointOrchestrator::Enqueue(Request request) {
  if (aborted_) {
    for (const Done& done : request.done) {
      done(abort_status_);
    }
    return;
  }
  SELARI_CHECK(!servers_.empty());
  // A stop that is under way is the last cut there will be.
  for (auto& [id, capture] : captures_) {
    if (capture.stop) {
      std::move(request.done.begin(), request.done.end(),
                std::back_inserter(capture.done));
      return;
    }
  }
  if (pause_ != nullptr && (pause_->request.stop || !request.stop)) {
    std::move(request.done.begin(), request.done.end(),
              std::back_inserter(pause_->request.done));
    return;
  }
  for (Request& waiting : requests_) {
    if (waiting.stop || !request.stop) {
      std::move(request.done.begin(), request.done.end(),
                std::back_inserter(waiting.done));
      return;
    }
  }
  requests_.push_back(std::move(request));
  StartNextRequest();
}

void CheckpointOrchestrator::StartNextRequest() {
  if (pause_ != nullptr || requests_.empty()) {
    return;
  }
  pause_ = std::make_unique<Pause>();
  pause_->request = std::move(requests_.front());
  requests_.pop_front();
  pause_->waiting = AllServers();
  for (size_t server = 0; server < servers_.size(); ++server) {
    SendPause(server);
  }
}

void CheckpointOrchestrator::SendPause(size_t server) {
  const Server& target = servers_[server];
  environment_.post([this, server, generation = generation_,
                     control = target.control,
                     request = NewRequest<v1::PauseShardsRequest>(target)] {
    control->PauseShards(
        request, [this, server,
                  generation](absl::StatusOr<v1::PauseShardsResponse> reply) {
          environment_.enter([&] {
            if (generation == generation_) {
              OnPaused(server, reply);
            }
          });
        });
  });
}

void CheckpointOrchestrator::OnPaused(
    size_t server, const absl::StatusOr<v1::PauseShardsResponse>& response) {
  if (pause_ == nullptr || pause_->waiting.erase(server) == 0) {
    return;
  }
  if (!response.ok()) {
    pause_->error = Annotate(response.status(), ServerName(server));
  } else {
    for (const v1::ShardStatus& shard : response->shards()) {
      if (shard.state_bytes() == 0) {
        continue;  // A model smaller than its shards: nothing to count.
      }
      pause_->min_version =
          pause_->any_chunk ? std::min(pause_->min_version, shard.min_version())
                            : shard.min_version();
      pause_->max_version = std::max(pause_->max_version, shard.max_version());
      pause_->any_chunk = true;
    }
  }
  if (pause_->waiting.empty()) {
    EndPause();
  }
}

void CheckpointOrchestrator::EndPause() {
  Pause pause = std::move(*pause_);
  pause_.reset();
  if (pause.error.ok() && sync() && pause.max_version - pause.min_version > 1) {
    pause.error = absl::InternalError(absl::StrCat(
        "shards have from ", pause.min_version, " to ", pause.max_version,
        " updates, but SYNC lets them differ by one"));
  }
  if (!pause.error.ok()) {
    ResumeAll();
    for (const Done& done : pause.request.done) {
      done(pause.error);
    }
    if (pause.request.done.empty()) {
      environment_.on_failed(pause.error);
    }
  } else {
    ChooseCut(std::move(pause));
  }
  StartNextRequest();
}

void CheckpointOrchestrator::ChooseCut(Pause pause) {
  // With compression, workers hold back a part of their gradients, and no
  // server has it; but nothing at these steps, and nothing at the start.
  const int64_t step = anew_ && pause.max_version == start_step_
                           ? start_step_
                           : NextResetVersion(job_, pause.max_version);
  if (sync() && !pause.request.stop) {
    if (newest_.step == step) {
      ResumeAll();
      for (const Done& done : pause.request.done) {
        done(newest_);
      }
      return;
    }
    for (auto& [id, capture] : captures_) {
      if (capture.step == step) {
        ResumeAll();
        std::move(pause.request.done.begin(), pause.request.done.end(),
                  std::back_inserter(capture.done));
        return;
      }
    }
  }
  Capture capture;
  capture.step = sync() ? step : -1;
  capture.stop = pause.request.stop;
  capture.resume = true;
  capture.done = std::move(pause.request.done);
  if (capture.stop && sync()) {
    ForgetCapturesAfter(capture.step);
  }
  StartCapture(std::move(capture));
}

void CheckpointOrchestrator::ResumeAll() {
  for (const Server& server : servers_) {
    environment_.post([control = server.control,
                       request = NewRequest<v1::ResumeShardsRequest>(server)] {
      // A lost one is made good by the server: its pause ends by itself.
      control->ResumeShards(
          request, [](const absl::StatusOr<v1::ResumeShardsResponse>&) {});
    });
  }
}

}  // namespace selari
