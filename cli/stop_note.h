// What Ctrl-C comes to, for whoever pressed it.
//
// Thread safety: pure function.

#ifndef SELARI_CLI_STOP_NOTE_H_
#define SELARI_CLI_STOP_NOTE_H_

#include <string>

#include "selari/v1/job.pb.h"

namespace selari {

// One sentence: where a job with these settings stops, and how to end it at
// once.
std::string StopNote(const v1::ResolvedJob& job);

}  // namespace selari

#endif  // SELARI_CLI_STOP_NOTE_H_
