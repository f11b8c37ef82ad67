// Tests the store on a failing disk. After any fault, a store that opens again holds every acknowledged commit, and the
// newest unacknowledged commit completely or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "core/base/check.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"
#include "tests/faults/commits.h"
#include "tests/faults/failing_disk.h"

namespace kq::faults {
namespace {

namespace fs = std::filesystem;

constexpr int kLives = 2;                      // how often the store of one seed is opened and fails
constexpr int kCommitsMax = 12;                // commits between two openings
constexpr std::uint64_t kOperationsMax = 120;  // operations before the fault; opening the store takes about fifty

// An empty store, which each seed copies, because creating a store takes longer than running a seed.
class EmptyStore {
 public:
  EmptyStore() {
    KQ_CHECK(store::open_rocks_store(dir(), store::OpenMode::read_write, {.space = {.reserve_bytes = 0}}));
  }
  std::string dir() const { return directory_.path() + "/store"; }

 private:
  store::TemporaryDirectory directory_;
};

// A clock whose sleeps return immediately. RocksDB sleeps for a second between a failed flush and its repetition.
class ClockWithoutSleep final : public rocksdb::SystemClockWrapper {
 public:
  ClockWithoutSleep() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "ClockWithoutSleep"; }
  void SleepForMicroseconds(int) override {}
};

// The environment of a store on a FailingDisk.
class TestEnv final : public rocksdb::EnvWrapper {
 public:
  explicit TestEnv(const std::shared_ptr<FailingDisk>& disk) : EnvWrapper(rocksdb::NewCompositeEnv(disk)) {
    system_clock_ = std::make_shared<ClockWithoutSleep>();
  }
};

// The store of one seed, its disk, and the number of acknowledged commits.
class StoreOnFailingDisk {
 public:
  StoreOnFailingDisk(const EmptyStore& empty, std::uint64_t seed) : random_(seed) {
    fs::copy(empty.dir(), dir());
    disk_ = std::make_shared<FailingDisk>(dir());
    env_ = std::make_unique<TestEnv>(disk_);
  }

  FailingDisk& disk() { return *disk_; }

  // Opens and checks the store, commits until the fault happens or kCommitsMax is reached, closes the store and turns
  // the power off. Without a fault it only opens and checks the store. Returns an error text, or an empty text.
  std::string run_life(std::optional<Fault> fault) {
    if (fault) disk_->plan(*fault, 1 + random_() % kOperationsMax);
    auto store = open();
    std::string error = store ? check(**store) : "";
    if (!store && !disk_->met_fault()) error = "the store does not open: " + store.error().message;
    if (store && fault) work(**store);
    store = {};
    faults_met_ += disk_->met_fault();
    disk_->plan(Fault::power_off, 1);  // background threads that still write fail from here on
    disk_->lose_unsynced(random_);
    return error;
  }

  std::string dir() const { return directory_.path() + "/store"; }
  int faults_met() const { return faults_met_; }

 private:
  Expected<std::unique_ptr<store::Store>> open() {
    return store::open_rocks_store(dir(), store::OpenMode::read_write,
                                   {.space = {.reserve_bytes = 0}, .env = env_.get(), .compacts = false});
  }

  std::string check(const store::Store& store) {
    const auto found = commits_in(store);
    if (!found) return found.error().message;
    const Sequence present = *found;
    if (present < acknowledged_) {
      return std::to_string(acknowledged_) + " commits were acknowledged, " + std::to_string(present) + " are there";
    }
    if (present > begun_) return "the store has commits that were never written";
    acknowledged_ = begun_ = present;
    return validate(store, present);
  }

  void work(store::Store& store) {
    std::optional<Error> broken;
    for (int turn = 0; turn < kCommitsMax; ++turn) {
      if (random_() % 8 == 0 && !broken) {
        if (auto dropped = store.drop(store::Family::run, "a", "b"); !dropped) broken = dropped.error();  // a flush
      }
      begun_ = broken ? begun_ : acknowledged_ + 1;
      const auto done = store.commit(batch(acknowledged_ + 1));
      EXPECT_FALSE(done && broken) << "a commit succeeded after one had failed";
      if (done) acknowledged_ = begun_;
      EXPECT_TRUE(done || !broken || done.error() == *broken) << done.error().message;
      if (!done) broken = done.error();
    }
  }

  store::TemporaryDirectory directory_;
  std::mt19937_64 random_;
  std::shared_ptr<FailingDisk> disk_;
  std::unique_ptr<rocksdb::Env> env_;
  Sequence acknowledged_ = 0;
  Sequence begun_ = 0;  // the newest commit that was attempted
  int faults_met_ = 0;
};

struct Counts {
  int met = 0;      // faults that happened
  int refused = 0;  // stores that did not open
};

// Whether the store may refuse to open. RocksDB appends two records to its MANIFEST and then syncs once. If that sync
// fails and the power then goes off, the first record may be lost while the second is there. This looks like damage.
bool may_be_refused(Fault fault, const std::string& error) {
  return fault == Fault::failing_sync && error.find("is damaged: MANIFEST-") != std::string::npos;
}

// Opens the store of one seed several times, each time until the fault. Returns the first error text, or an empty text.
std::string run_seed(const EmptyStore& empty, std::uint64_t seed, Fault fault, bool ignores_syncs, Counts& counts) {
  StoreOnFailingDisk store(empty, seed);
  if (ignores_syncs) store.disk().ignore_syncs();
  for (int life = 0; life <= kLives; ++life) {
    const std::string error = store.run_life(life < kLives ? std::optional(fault) : std::nullopt);
    if (may_be_refused(fault, error)) {
      ++counts.refused;
      break;
    }
    if (!error.empty()) return "seed " + std::to_string(seed) + ", life " + std::to_string(life) + ": " + error;
  }
  counts.met += store.faults_met();
  return "";
}

// Runs the seeds, or one out of `share_of_seeds`, with the fault.
void survives(Fault fault, std::uint64_t share_of_seeds) {
  const EmptyStore empty;
  const std::uint64_t run_count = std::max<std::uint64_t>(1, seed_count / share_of_seeds);
  Counts counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + run_count; ++seed) {
    ASSERT_EQ(run_seed(empty, seed, fault, false, counts), "");
  }
  EXPECT_TRUE(counts.met > 0 || run_count < 10) << "no fault was met";
  EXPECT_LE(counts.refused, 1 + static_cast<int>(run_count / 100));
}

TEST(StoreFaults, power_off_at_any_point_loses_nothing_acknowledged) {
  survives(Fault::power_off, 1);
}
TEST(StoreFaults, a_sync_that_fails_ends_the_commits_and_loses_nothing) {
  survives(Fault::failing_sync, 4);
}
TEST(StoreFaults, a_disk_without_room_ends_the_commits_and_loses_nothing) {
  survives(Fault::no_space, 4);
}
TEST(StoreFaults, a_write_cut_short_ends_the_commits_and_loses_nothing) {
  survives(Fault::short_write, 4);
}

TEST(StoreFaults, commits_that_a_disk_loses_after_a_sync_are_noticed) {
  const EmptyStore empty;
  Counts counts;
  std::string error;
  for (std::uint64_t seed = 1; seed < 50 && error.empty(); ++seed) {
    error = run_seed(empty, seed, Fault::power_off, true, counts);
  }
  EXPECT_NE(error, "") << "the checks found no lost commit";
}

}  // namespace
}  // namespace kq::faults
