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

template <class Request>
Request NewRequest(const v1::ResolvedJob& job,
                   const CheckpointOrchestrator::Server& server) {
  Request request;
  request.set_job_id(job.job_id());
  request.set_incarnation(server.incarnation);
  return request;
}

std::set<size_t> AllIndexes(size_t count) {
  std::set<size_t> indexes;
  for (size_t i = 0; i < count; ++i) {
    indexes.insert(i);
  }
  return indexes;
}

int64_t NextMultiple(int64_t after, int64_t interval) {
  return interval > 0 ? (after / interval + 1) * interval : 0;
}

}  // namespace

CheckpointOrchestrator::CheckpointOrchestrator(const v1::ResolvedJob& job,
                                               Environment environment)
    : job_(job), environment_(std::move(environment)) {
  newest_.step = -1;
}

std::string CheckpointOrchestrator::ServerName(size_t server) const {
  return absl::StrCat("server ", servers_[server].id);
}

void CheckpointOrchestrator::Start(std::vector<Server> servers, int64_t step) {
  SELARI_CHECK(!servers.empty());
  servers_ = std::move(servers);
  start_step_ = step;
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
  pause_->waiting = AllIndexes(servers_.size());
  for (size_t server = 0; server < servers_.size(); ++server) {
    SendPause(server);
  }
}

void CheckpointOrchestrator::SendPause(size_t server) {
  const Server& target = servers_[server];
  environment_.post(
      [this, server, generation = generation_, control = target.control,
       request = NewRequest<v1::PauseShardsRequest>(job_, target)] {
        control->PauseShards(
            request, [this, server, generation](
                         absl::StatusOr<v1::PauseShardsResponse> reply) {
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
  // server has it; but nothing at these steps.
  const int64_t step = NextResetVersion(job_, pause.max_version);
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
    environment_.post(
        [control = server.control,
         request = NewRequest<v1::ResumeShardsRequest>(job_, server)] {
          // A lost one is made good by the server: its pause ends by itself.
          control->ResumeShards(
              request, [](const absl::StatusOr<v1::ResumeShardsResponse>&) {});
        });
  }
}

// Captures: a cut whose step is known.

void CheckpointOrchestrator::ArmPeriodic() {
  const int64_t every_steps = job_.job().checkpointing().every_steps();
  if (!sync() || every_steps == 0 || stopping_ || aborted_ ||
      servers_.empty()) {
    return;
  }
  int armed = 0;
  for (const auto& [id, capture] : captures_) {
    armed += capture.resume || capture.publishing ? 0 : 1;
  }
  // The last step's checkpoint is taken by SaveAndStop.
  for (; armed < kArmedAhead &&
         (job_.total_steps() == 0 || next_periodic_step_ < job_.total_steps());
       ++armed) {
    Capture capture;
    capture.step = next_periodic_step_;
    next_periodic_step_ += every_steps;
    StartCapture(std::move(capture));
  }
}

void CheckpointOrchestrator::StartCapture(Capture capture) {
  capture.waiting = AllIndexes(servers_.size());
  capture.tries.assign(servers_.size(), 0);
  capture.directory = environment_.store->AttemptDirectory(
      std::max<int64_t>(capture.step >= 0 ? capture.step : progress_step_, 0));
  const int64_t id = next_capture_id_++;
  captures_.emplace(id, std::move(capture));
  for (size_t server = 0; server < servers_.size(); ++server) {
    SendCapture(id, server);
  }
}

void CheckpointOrchestrator::SendCapture(int64_t id, size_t server) {
  Capture& capture = captures_.at(id);
  ++capture.tries[server];
  const Server& target = servers_[server];
  auto request = NewRequest<v1::SaveShardsRequest>(job_, target);
  request.set_step(capture.step);
  request.set_directory(capture.directory);
  request.set_stop(capture.stop);
  request.set_resume(capture.resume);
  environment_.post([this, id, server, control = target.control, request] {
    control->SaveShards(
        request,
        [this, id, server](absl::StatusOr<v1::SaveShardsResponse> reply) {
          environment_.enter([&] { OnCaptured(id, server, reply); });
        });
  });
}

void CheckpointOrchestrator::OnCaptured(
    int64_t id, size_t server,
    const absl::StatusOr<v1::SaveShardsResponse>& response) {
  const auto found = captures_.find(id);
  if (found == captures_.end()) {
    return;
  }
  Capture& capture = found->second;
  if (!response.ok() && TryAgain(id, server, response.status())) {
    return;
  }
  capture.waiting.erase(server);
  if (!response.ok()) {
    capture.error = Annotate(response.status(), ServerName(server));
  } else {
    capture.error.Update(
        Annotate(capture.cut.Add(*response), ServerName(server)));
  }
  if (capture.waiting.empty()) {
    FinishCapture(id);
  }
}

// A capture may be armed for longer than any call lives, and a connection may
// break meanwhile; the server joins a repeat to what it already does.
bool CheckpointOrchestrator::TryAgain(int64_t id, size_t server,
                                      const absl::Status& error) {
  const bool again = absl::IsDeadlineExceeded(error) ||
                     (absl::IsUnavailable(error) &&
                      captures_.at(id).tries[server] < kTriesMax);
  if (again) {
    SendCapture(id, server);
  }
  return again;
}

void CheckpointOrchestrator::FinishCapture(int64_t id) {
  Capture& capture = captures_.at(id);
  if (capture.error.ok()) {
    capture.error = capture.cut.CheckComplete(job_);
  }
  if (capture.error.ok()) {
    PublishCapture(id);
  } else {
    FailCapture(id);
  }
}

void CheckpointOrchestrator::FailCapture(int64_t id) {
  const auto node = captures_.extract(id);
  const Capture& capture = node.mapped();
  environment_.post_io(
      [store = environment_.store, directory = capture.directory] {
        store->Discard(directory);
      });
  const absl::Status error = Annotate(
      capture.error,
      absl::StrCat("the checkpoint at step ", StepOf(capture), " failed"));
  for (const Done& done : capture.done) {
    done(error);
  }
  if (!capture.stop) {
    environment_.on_failed(error);
  }
  ArmPeriodic();
}

void CheckpointOrchestrator::PublishCapture(int64_t id) {
  Capture& capture = captures_.at(id);
  capture.publishing = true;
  environment_.post_io(
      [this, id, store = environment_.store, directory = capture.directory,
       manifest = capture.cut.MakeManifest(job_, StepOf(capture))] {
        const absl::StatusOr<PublishedCheckpoint> published =
            store->Publish(directory, manifest);
        environment_.enter([&] { OnPublished(id, published); });
      });
  ArmPeriodic();
}

void CheckpointOrchestrator::OnPublished(
    int64_t id, const absl::StatusOr<PublishedCheckpoint>& published) {
  const auto found = captures_.find(id);
  if (found == captures_.end()) {
    return;
  }
  if (!published.ok()) {
    found->second.error = published.status();
    FailCapture(id);
    return;
  }
  const auto node = captures_.extract(id);
  if (published->step >= newest_.step) {
    newest_ = *published;
    environment_.on_published(*published);
  }
  for (const Done& done : node.mapped().done) {
    done(*published);
  }
  ArmPeriodic();
}

// Armed captures that no update will reach any more.
void CheckpointOrchestrator::ForgetCapturesAfter(int64_t step) {
  for (auto it = captures_.begin(); it != captures_.end();) {
    if (it->second.step > step && it->second.done.empty()) {
      it = captures_.erase(it);
    } else {
      ++it;
    }
  }
}

int64_t CheckpointOrchestrator::StepOf(const Capture& capture) const {
  return capture.step >= 0
             ? capture.step
             : capture.cut.StepByClocks(job_, {start_step_, progress_step_});
}

}  // namespace selari
