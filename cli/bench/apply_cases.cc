#include "cli/bench/apply_cases.h"

#include <memory>
#include <string>
#include <utility>

#include "cli/bench/wire_job.h"
#include "common/isa.h"
#include "common/reduction_tree.h"
#include "common/status.h"
#include "server/shard/push_loop.h"

namespace selari {
namespace {

using Choose = void (*)(v1::Optimizer*);

struct Choice {
  const char* name;
  Choose choose;
};

constexpr Choice kChoices[] = {
    {"sgd", [](v1::Optimizer* o) { o->mutable_sgd(); }},
    {"momentum", [](v1::Optimizer* o) { o->mutable_sgd()->set_momentum(0.9); }},
    {"adagrad", [](v1::Optimizer* o) { o->mutable_adagrad(); }},
    {"rms_prop", [](v1::Optimizer* o) { o->mutable_rms_prop(); }},
    {"adam", [](v1::Optimizer* o) { o->mutable_adam(); }},
    {"adam_w",
     [](v1::Optimizer* o) {
       o->mutable_adam_w();
       o->set_weight_decay(0.01);
     }},
    {"lamb", [](v1::Optimizer* o) { o->mutable_lamb(); }},
    {"sgd_clip_global_norm",
     [](v1::Optimizer* o) {
       o->mutable_sgd();
       o->set_clip_global_norm(1);
     }},
};

absl::StatusOr<double> Measure(const WireShape& shape, Choose choose) {
  v1::ResolvedJob job = MakeWireJob(shape, DetectIsaLevel());
  v1::Optimizer& optimizer = *job.mutable_job()->mutable_optimizer();
  optimizer.Clear();
  optimizer.set_learning_rate(0.001);
  choose(&optimizer);
  std::vector<TreeNode> nodes;
  for (int32_t worker = 0; worker < shape.workers; ++worker) {
    nodes.push_back({0, worker});
  }
  SELARI_ASSIGN_OR_RETURN(auto loop, PushLoop::Create(job, std::move(nodes)));
  // The second version of each chunk takes its memory in the first steps.
  SELARI_RETURN_IF_ERROR(loop->Step());
  return MeasureRate(static_cast<double>(loop->bytes_per_step()),
                     kMeasureSeconds, [&] { return loop->Step(); });
}

}  // namespace

std::vector<RateCase> ApplyCases(int64_t bytes, int32_t workers) {
  WireShape shape;
  shape.floats = bytes / int64_t{sizeof(float)};
  shape.workers = workers;
  shape.shards = 1;
  std::vector<RateCase> cases;
  for (const Choice& choice : kChoices) {
    cases.push_back(
        {choice.name, RateUnit::kBytes,
         [shape, choose = choice.choose] { return Measure(shape, choose); }});
  }
  return cases;
}

}  // namespace selari
