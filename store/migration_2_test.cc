#include "store/migration_2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "core/records.h"
#include "core/testing/examples.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/migration.h"
#include "store/reader.h"

namespace kq::store {
namespace {

using testing::HasSubstr;

// A store of schema 1 with jobs of every state.
class Migration2Test : public testing::Test {
 protected:
  Migration2Test() {
    put(Family::meta, std::string(kSchemaKey), "1");
    for (Sequence seq = 1; seq <= 9; ++seq) {
      Submission submission = examples::submission();
      submission.device = seq % 2 == 0 ? DeviceWish::cpu : DeviceWish::any;
      JobRecord job{
          .seq = seq, .key = submission_key(submission), .state = static_cast<JobState>(seq % 3), .last_error = ""};
      put(Family::state, sequence_key(seq), encode(job));
      put(Family::body, sequence_key(seq), encode(submission));
      put(Family::run, run_key("run", std::to_string(seq)), encode(RunEntry{.seq = seq, .submission = submission}));
    }
    put(Family::blob, hash_key(examples::submission().files[0].hash), std::string(500, 'x'));
  }

  void put(Family family, std::string key, std::string value) {
    const Write write{family, std::move(key), std::move(value)};
    ASSERT_TRUE(store.commit({&write, 1}));
  }

  MemoryStore store;
};

// A store whose process dies at its n-th commit.
class Dying final : public Store {
 public:
  Dying(Store& store, int commit_count) : store_(store), left_(commit_count) {}
  Expected<void> commit(std::span<const Write> writes) override {
    if (left_-- == 0) return our_fault("killed");
    return store_.commit(writes);
  }
  Expected<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return store_.get(family, key);
  }
  Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const override {
    return store_.scan(family, first, end, visit);
  }

 private:
  Store& store_;
  int left_;
};

std::vector<std::string> contents(const Store& store) {
  std::vector<std::string> all;
  for (const std::string_view name : kEnumNames<Family>) {
    EXPECT_TRUE(store.scan(*parse_enum<Family>(name), "", "", [&](std::string_view key, std::string_view value) {
      all.push_back(std::string(name) + " " + std::string(key) + " " + std::string(value));
      return true;
    }));
  }
  return all;
}

void ignore(const std::string&) {}

TEST_F(Migration2Test, has_one_outcome_for_any_kill_and_any_slice_size) {
  MemoryStore expected = store;
  ASSERT_TRUE(migrate(expected, 1, ignore));
  EXPECT_EQ(expected.get(Family::meta, kSchemaKey).value(), std::to_string(kSchemaVersion));
  for (const std::size_t slice : {1, 2, 4, 9}) {
    bool killed = true;
    for (int commit_count = 0; killed; ++commit_count) {
      MemoryStore one = store;
      Dying dying(one, commit_count);
      killed = !migrate(dying, 1, ignore, slice);
      ASSERT_TRUE(migrate(one, 1, ignore, slice));
      EXPECT_EQ(contents(one), contents(expected)) << "slices of " << slice << ", killed at " << commit_count;
    }
  }
}

TEST_F(Migration2Test, an_unfinished_job_costs_its_files_and_its_record) {
  ASSERT_TRUE(migrate(store, 1, ignore));
  EXPECT_EQ((*read_job(store, 3).value()).bytes, 1'524u);
  EXPECT_EQ((*read_job(store, 2).value()).bytes, 0u) << "finished";
}

TEST_F(Migration2Test, a_job_leads_to_its_labels) {
  ASSERT_TRUE(migrate(store, 1, ignore));
  EXPECT_TRUE(store.get(Family::reuse, reuse_key(4, run_key("run", "4"))).value());
}

TEST_F(Migration2Test, an_abandoned_job_is_a_dead_letter) {
  JobRecord job = *read_job(store, 2).value();
  job.failures = 3;
  put(Family::state, sequence_key(2), encode(job));
  put(Family::result, sequence_key(2), encode(examples::result(ended(VerdictName::abandoned, {}))));
  ASSERT_TRUE(migrate(store, 1, ignore));
  EXPECT_TRUE(store.get(Family::dead, sequence_key(2)).value());
  EXPECT_FALSE(store.get(Family::dead, sequence_key(5)).value());
}

TEST_F(Migration2Test, a_job_without_a_submission_is_damage) {
  const Write removal{Family::body, sequence_key(4), std::nullopt};
  ASSERT_TRUE(store.commit({&removal, 1}));
  EXPECT_THAT(migrate(store, 1, ignore).error().message, HasSubstr("family 'body': job 4 has none"));
}

}  // namespace
}  // namespace kq::store
