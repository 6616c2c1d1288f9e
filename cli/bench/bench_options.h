// What the command line says to `selari bench`.

#ifndef SELARI_CLI_BENCH_BENCH_OPTIONS_H_
#define SELARI_CLI_BENCH_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace selari {

struct BenchWireCommand {
  std::string listen;   // serve a client of another machine; excludes connect
  std::string connect;  // measure to this peer; empty: to a second process
  int64_t megabytes = 256;        // of weights, units of 2^20 bytes
  std::string optimizer = "sgd";  // or "adam"
  int32_t workers = 1;
  int32_t shards = 16;
  int32_t streams = 0;    // to the server; 0: as in training
  int64_t frame_kib = 0;  // of one message, units of 2^10; 0: as in training
  bool no_shared_memory = false;
  int32_t repeats = 5;
  int32_t steps = 2000;  // of the small model
  bool json = false;
};

struct BenchApplyCommand {
  int64_t megabytes = 64;  // of weights, units of 2^20 bytes
  int32_t workers = 1;     // whose gradients are summed
  int32_t repeats = 5;
  bool json = false;
};

struct BenchKernelsCommand {
  int32_t repeats = 5;
  bool json = false;
};

struct BenchStepCommand {
  std::string job_file;
  std::vector<std::string> assignments;  // --set field=value, in order
  int64_t steps = 300;
  int32_t repeats = 5;  // parts that the steps are cut into
  int32_t threads = 0;  // 0: as the job says
  bool json = false;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_BENCH_OPTIONS_H_
