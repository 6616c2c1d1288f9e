// selari, the one binary.

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "version") == 0) {
    std::puts("selari 0.1.0");
    return 0;
  }
  std::fputs("usage: selari version\n", argc > 1 ? stderr : stdout);
  return argc > 1 ? 2 : 0;
}
