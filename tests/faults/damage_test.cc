// Tests a store whose files were damaged: either it does not open, or a read returns an error. A read without an error
// returns the correct value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "store/rocks/rocks_store.h"
#include "store/rocks/wal_tail.h"
#include "store/temporary_directory.h"
#include "tests/faults/commits.h"

namespace kq::faults {
namespace {

namespace fs = std::filesystem;

constexpr Sequence kCommits = 24;

// The files of a crashed store. One half of its commits is in tables and blob files, the other half in the log.
class CrashedStore {
 public:
  CrashedStore() {
    const std::string running = directory_.path() + "/running";
    const auto store =
        store::open_rocks_store(running, store::OpenMode::read_write, {.space = {.reserve_bytes = 0}}).value();
    for (Sequence n = 1; n <= kCommits; ++n) {
      KQ_CHECK(store->commit(batch(n)));
      if (n != kCommits / 2) continue;
      for (const store::Family family :
           {store::Family::state, store::Family::blob, store::Family::ids, store::Family::meta}) {
        KQ_CHECK(store->drop(family, "\xFF", "\xFF\xFF"));  // flushes
      }
    }
    fs::copy(running, dir());
  }
  std::string dir() const { return directory_.path() + "/image"; }

 private:
  store::TemporaryDirectory directory_;
};

// Returns a random file of the store that is not empty, the log with four times the probability of another file.
fs::path any_file(const std::string& dir, std::mt19937_64& random) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename();
    const bool matters =
        name.starts_with("MANIFEST") || name.ends_with(".sst") || name.ends_with(".blob") || name.ends_with(".log");
    if (!matters || entry.file_size() == 0) continue;
    files.insert(files.end(), name.ends_with(".log") ? 4 : 1, entry.path());
  }
  std::ranges::sort(files);
  return files[random() % files.size()];
}

// Returns the offset of the last record of a log. Zeros from there on look like a write that never reached the disk.
std::uint64_t last_record(const fs::path& log) {
  const fs::path cut = log.string() + ".cut";
  fs::copy_file(log, cut);
  fs::resize_file(cut, fs::file_size(log) - 1);
  const std::uint64_t begin = store::check_wal_tail(cut.string(), store::WalCheck::checksums)->good_bytes;
  fs::remove(cut);
  return begin;
}

// Flips a bit, or overwrites up to 4096 bytes with zeros. Returns a description.
std::string damage(const fs::path& path, std::mt19937_64& random) {
  const std::uint64_t at = random() % fs::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const bool flip = random() % 2 == 0;
  if (flip) {
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1 << random() % 8));
  } else {
    const bool is_log = path.extension() == ".log" || path.extension().empty();
    const std::uint64_t end = is_log ? std::max(last_record(path), at) : fs::file_size(path);
    const std::uint64_t n = std::min<std::uint64_t>(1 + random() % 4096, end - at);
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(n, '\0');
  }
  return path.filename().string() + (flip ? ", a bit of byte " : ", zeros from byte ") + std::to_string(at);
}

enum class Found { refused, read_error, last_commit_lost, complete };

// Opens and reads the store. Returns an Error if the store returns wrong data without an error.
Expected<Found> inspect(const std::string& dir) {
  const auto store = store::open_rocks_store(dir, store::OpenMode::read_write, {.space = {.reserve_bytes = 0}});
  if (!store)
    return store.error().message.empty() ? Expected<Found>(our_fault("the store was refused without a message"))
                                         : Found::refused;
  const auto present = commits_in(**store);
  if (!present) return Found::read_error;
  // A damaged last commit looks like a commit that a crash interrupted, so it may be missing.
  if (*present < kCommits - 1 || *present > kCommits) {
    return our_fault(std::to_string(*present) + " of " + std::to_string(kCommits) +
                     " commits are there, and no error was reported");
  }
  const std::string error = validate(**store, *present);
  if (error.find("Corruption") != std::string::npos) return Found::read_error;
  if (!error.empty()) return our_fault(error);
  return *present == kCommits ? Found::complete : Found::last_commit_lost;
}

TEST(StoreDamage, is_refused_or_a_read_error_and_never_wrong_data) {
  const CrashedStore image;
  std::map<Found, int> counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + seed_count; ++seed) {
    const store::TemporaryDirectory directory;
    const std::string dir = directory.path() + "/store";
    fs::copy(image.dir(), dir);
    std::mt19937_64 random(seed);
    const std::string what = damage(any_file(dir, random), random);
    const auto found = inspect(dir);
    ASSERT_TRUE(found) << "seed " << seed << ": " << what << ": " << found.error().message;
    ++counts[*found];
  }
  if (seed_count < 100) return;
  for (const Found found : {Found::refused, Found::read_error}) {
    EXPECT_GT(counts[found], 0) << "of kind " << static_cast<int>(found);
  }
}

TEST(StoreDamage, an_undamaged_store_is_complete) {
  const CrashedStore image;
  EXPECT_EQ(inspect(image.dir()).value(), Found::complete);
}

}  // namespace
}  // namespace kq::faults
