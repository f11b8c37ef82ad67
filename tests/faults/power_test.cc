// The store on a disk that fails. Whatever happens, a store that opens again holds every acknowledged commit whole, and
// of a commit that was not acknowledged all or nothing.
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

constexpr int kLives = 2;                      // of one seed
constexpr int kCommitsMax = 12;                // between two openings
constexpr std::uint64_t kOperationsMax = 120;  // until a fault is met: an opening takes some fifty

// A store without commits, made once: creating one takes longer than all of a seed.
class Template {
 public:
  Template() { KQ_CHECK(store::open_rocks_store(dir(), store::OpenMode::read_write, {.space = {.reserve_bytes = 0}})); }
  std::string dir() const { return directory_.path() + "/store"; }

 private:
  store::TemporaryDirectory directory_;
};

// After a failed flush RocksDB sleeps for a second before it tries again.
class Impatient final : public rocksdb::SystemClockWrapper {
 public:
  Impatient() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "Impatient"; }
  void SleepForMicroseconds(int) override {}
};

class TestEnv final : public rocksdb::EnvWrapper {
 public:
  explicit TestEnv(const std::shared_ptr<FailingDisk>& disk)
      : EnvWrapper(rocksdb::NewCompositeEnv(disk)) {
    system_clock_ = std::make_shared<Impatient>();
  }
};

// One seed: a store, its disk, and what was acknowledged.
class World {
 public:
  World(const Template& empty, std::uint64_t seed) : random_(seed) {
    fs::copy(empty.dir(), dir());
    disk_ = std::make_shared<FailingDisk>(dir());
    env_ = std::make_unique<TestEnv>(disk_);
  }

  FailingDisk& disk() { return *disk_; }

  // Opens the store, looks at it, commits until the fault or for some turns, closes it, lets the disk settle. Without a
  // fault it only looks. Gives what is wrong with the store, or nothing.
  std::string live(std::optional<Fault> fault) {
    if (fault) disk_->plan(*fault, 1 + random_() % kOperationsMax);
    auto store = open();
    std::string complaint = store ? look(**store) : "";
    if (!store && !disk_->met_fault()) complaint = "does not open: " + store.error().message;
    if (store && fault) work(**store);
    store = {};
    met_n_ += disk_->met_fault();
    disk_->plan(Fault::power_off, 1);  // whoever is still writing stops here
    disk_->settle(random_);
    return complaint;
  }

  std::string dir() const { return directory_.path() + "/store"; }
  int met_n() const { return met_n_; }  // faults

 private:
  Expected<std::unique_ptr<store::Store>> open() {
    return store::open_rocks_store(dir(), store::OpenMode::read_write,
                                   {.space = {.reserve_bytes = 0}, .env = env_.get(), .compacts = false});
  }

  std::string look(const store::Store& store) {
    const auto found = commits_in(store);
    if (!found) return found.error().message;
    const Sequence present = *found;
    if (present < acknowledged_) {
      return std::to_string(acknowledged_) + " commits were acknowledged, " + std::to_string(present) + " are there";
    }
    if (present > begun_) return "commits nobody made";
    acknowledged_ = begun_ = present;
    return complaint_about(store, present);
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
  Sequence begun_ = 0;  // the newest commit that was tried
  int met_n_ = 0;
};

struct Counts {
  int met = 0;      // faults
  int refused = 0;  // stores
};

// RocksDB appends two records to its MANIFEST and syncs once. When that sync fails and then the power goes, the first
// may be lost and the second there, which nothing tells from damage: such a store is refused.
bool may_be_refused(Fault fault, const std::string& complaint) {
  return fault == Fault::failing_sync && complaint.find("is damaged: MANIFEST-") != std::string::npos;
}

// Lives of one store, each ended by the fault. Gives the first complaint.
std::string run_seed(const Template& empty, std::uint64_t seed, Fault fault, bool lying, Counts& counts) {
  World world(empty, seed);
  if (lying) world.disk().lie_about_syncs();
  for (int life = 0; life <= kLives; ++life) {
    const std::string complaint = world.live(life < kLives ? std::optional(fault) : std::nullopt);
    if (may_be_refused(fault, complaint)) {
      ++counts.refused;
      break;
    }
    if (!complaint.empty()) return "seed " + std::to_string(seed) + ", life " + std::to_string(life) + ": " + complaint;
  }
  counts.met += world.met_n();
  return "";
}

void survives(Fault fault, std::uint64_t share_of_seeds) {
  const Template empty;
  const std::uint64_t runs_n = std::max<std::uint64_t>(1, seeds_n / share_of_seeds);
  Counts counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs_n; ++seed) {
    ASSERT_EQ(run_seed(empty, seed, fault, false, counts), "");
  }
  EXPECT_TRUE(counts.met > 0 || runs_n < 10) << "no fault was met";
  EXPECT_LE(counts.refused, 1 + static_cast<int>(runs_n / 100));
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

TEST(StoreFaults, a_disk_that_lies_about_syncs_is_found_out) {
  const Template empty;
  Counts counts;
  std::string complaint;
  for (std::uint64_t seed = 1; seed < 50 && complaint.empty(); ++seed) {
    complaint = run_seed(empty, seed, Fault::power_off, true, counts);
  }
  EXPECT_NE(complaint, "") << "the oracle sees nothing";
}

}  // namespace
}  // namespace kq::faults
