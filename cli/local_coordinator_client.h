// LocalCoordinatorClient: a CoordinatorClient on a Coordinator in this
// process. SaveCheckpoint and StopJob block until the checkpoint is published.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_CLI_LOCAL_COORDINATOR_CLIENT_H_
#define SELARI_CLI_LOCAL_COORDINATOR_CLIENT_H_

#include <memory>

#include "common/coordinator_client.h"

namespace selari {

class Coordinator;

// `coordinator` is borrowed.
std::unique_ptr<CoordinatorClient> MakeLocalCoordinatorClient(
    Coordinator* coordinator);

}  // namespace selari

#endif  // SELARI_CLI_LOCAL_COORDINATOR_CLIENT_H_
