// A disk that changes what it holds. A damaged store is refused, or the damage is met in reading; what is read without
// an error is right.
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

// The files of a crashed store: half of its commits in tables and blob files, half in the log.
class Image {
 public:
  Image() {
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

// A file of the store that holds something, its newest log more often than others.
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

// Where the last record of a log begins. What is blank from there on cannot be told from a write that never came to the
// disk.
std::uint64_t last_record(const fs::path& log) {
  const fs::path cut = log.string() + ".cut";
  fs::copy_file(log, cut);
  fs::resize_file(cut, fs::file_size(log) - 1);
  const std::uint64_t begin = store::check_wal_tail(cut.string(), store::WalCheck::checksums)->good_bytes;
  fs::remove(cut);
  return begin;
}

// Flips a bit or blanks up to a page. Gives what was done.
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
  return path.filename().string() + (flip ? ", a bit of byte " : ", blanked from byte ") + std::to_string(at);
}

enum class Found { refused, met_in_reading, last_commit_torn, whole };

// What a reader notices, or what is wrong with what it is served.
Expected<Found> inspect(const std::string& dir) {
  const auto store = store::open_rocks_store(dir, store::OpenMode::read_write, {.space = {.reserve_bytes = 0}});
  if (!store)
    return store.error().message.empty() ? Expected<Found>(our_fault("refused without a word")) : Found::refused;
  const auto present = commits_in(**store);
  if (!present) return Found::met_in_reading;
  // The last commit of a crashed store cannot be told from one that was under way.
  if (*present < kCommits - 1 || *present > kCommits) {
    return our_fault(std::to_string(*present) + " of " + std::to_string(kCommits) + " commits, without a word");
  }
  const std::string complaint = complaint_about(**store, *present);
  if (complaint.find("Corruption") != std::string::npos) return Found::met_in_reading;
  if (!complaint.empty()) return our_fault(complaint);
  return *present == kCommits ? Found::whole : Found::last_commit_torn;
}

TEST(StoreDamage, is_refused_or_met_in_reading_and_never_served) {
  const Image image;
  std::map<Found, int> found_n;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds_n; ++seed) {
    const store::TemporaryDirectory directory;
    const std::string dir = directory.path() + "/store";
    fs::copy(image.dir(), dir);
    std::mt19937_64 random(seed);
    const std::string what = damage(any_file(dir, random), random);
    const auto found = inspect(dir);
    ASSERT_TRUE(found) << "seed " << seed << ": " << what << ": " << found.error().message;
    ++found_n[*found];
  }
  if (seeds_n < 100) return;
  for (const Found found : {Found::refused, Found::met_in_reading}) {
    EXPECT_GT(found_n[found], 0) << "of kind " << static_cast<int>(found);
  }
}

TEST(StoreDamage, an_undamaged_image_is_whole) {
  const Image image;
  EXPECT_EQ(inspect(image.dir()).value(), Found::whole);
}

}  // namespace
}  // namespace kq::faults
