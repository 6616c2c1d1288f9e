// StepOptionsOf: which steps and which parts of them are a worker's.
//
// Thread safety: pure functions.

#ifndef SELARI_WORKER_STEP_OPTIONS_H_
#define SELARI_WORKER_STEP_OPTIONS_H_

#include <cstdint>
#include <string>

#include "worker/step.h"
#include "worker/work.h"

namespace selari {

// SYNC: its leaves of every step from `start_step` on. BOUNDED, ASYNC: every
// workers-th step whole. Worker 0 evaluates.
StepLoopOptions StepOptionsOf(const Work& work, int32_t worker_id,
                              int64_t start_step);

// What they come to, for people: "2 of the 8 parts of every batch".
std::string PartName(const StepLoopOptions& steps);

}  // namespace selari

#endif  // SELARI_WORKER_STEP_OPTIONS_H_
