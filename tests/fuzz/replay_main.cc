// Runs a fuzz target once for every given file, and for every file in every given directory. This makes the corpus a
// regression test.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

// The time limit of one file. A file takes milliseconds, so one that takes longer than this on a busy machine hangs.
constexpr std::chrono::seconds kInputLimit{20};

std::vector<fs::path> files_of(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const fs::path given = argv[i];
    if (!fs::is_directory(given)) {
      files.push_back(given);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(given)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || (fs::file_size(file) > 0 && !(text << in.rdbuf()))) {
    std::fprintf(stderr, "replay: cannot read %s\n", file.c_str());
    return false;
  }
  // Printed before the run, so that after a crash the last line names the input.
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  const std::string bytes = text.str();
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const bool is_in_time = std::chrono::steady_clock::now() - start < kInputLimit;
  if (!is_in_time)
    std::fprintf(stderr, "replay: %s took longer than %lld s\n", file.c_str(),
                 static_cast<long long>(kInputLimit.count()));
  return is_in_time;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = files_of(argc, argv);
  if (files.empty()) {
    std::fprintf(stderr, "replay: no input; name files or directories of a corpus\n");
    return 2;
  }
  return std::all_of(files.begin(), files.end(), replay) ? 0 : 1;
}
