// Captures, cuts whose step is known, from the servers' files to the published
// checkpoint: a part of CheckpointOrchestrator.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "server/coordinator/checkpoint_orchestrator.h"

namespace selari {

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
  capture.waiting = AllServers();
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
  auto request = NewRequest<v1::SaveShardsRequest>(target);
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
    TrimJournals(node.mapped());
  }
  for (const Done& done : node.mapped().done) {
    done(*published);
  }
  ArmPeriodic();
}

void CheckpointOrchestrator::TrimJournals(const Capture& capture) {
  if (job_.job().checkpointing().durability() != v1::DURABILITY_JOURNALED) {
    return;
  }
  for (const Server& server : servers_) {
    auto request = NewRequest<v1::TrimJournalsRequest>(server);
    request.set_step(capture.step);
    request.set_directory(capture.directory);
    environment_.post([control = server.control, request] {
      // What is not let go of now goes with the next checkpoint.
      control->TrimJournals(
          request, [](const absl::StatusOr<v1::TrimJournalsResponse>&) {});
    });
  }
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
