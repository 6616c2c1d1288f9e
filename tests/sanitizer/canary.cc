// Makes one mistake on purpose, so that a test sees that the sanitizers of the
// build find such mistakes.
//
// Usage: canary address|thread|undefined

#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>

namespace {

// `one` is 1: a number that the compiler does not know.
void Address(int one) {
  const std::unique_ptr<int[]> numbers(new int[1]{one});
  std::printf("%d\n", numbers[static_cast<size_t>(one)]);
}

void Thread(int one) {
  int count = 0;
  std::thread other([&count, one] { count += one; });
  count += one;
  other.join();
  std::printf("%d\n", count);
}

void Undefined(int one) {
  std::printf("%d\n", std::numeric_limits<int>::max() + one);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mistake = argc == 2 ? argv[1] : "";
  if (mistake == "address") {
    Address(argc - 1);
  } else if (mistake == "thread") {
    Thread(argc - 1);
  } else if (mistake == "undefined") {
    Undefined(argc - 1);
  } else {
    return 2;
  }
  return 0;
}
