// testdata/retention.txt tests which jobs are removed. These tests show that the size of a step and restarts make no
// difference, that files which a job names stay, and that a step is short.
#include "broker/gc/retention.h"

#include <gtest/gtest.h>

#include "broker/broker.h"
#include "core/codec/codec.h"
#include "core/records.h"
#include "core/testing/examples.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

constexpr std::int64_t kDay = 86'400'000;

BrokerOptions keep_a_day() {
  BrokerOptions options;
  options.keep_ms = kDay;
  return options;
}

class RetentionTest : public testing::Test {
 protected:
  void put(store::Family family, std::string key, std::string value) {
    const store::Write write{family, std::move(key), std::move(value)};
    ASSERT_TRUE(store.commit({&write, 1}));
  }

  // Adds a finished job with a file of its own and files that all jobs share.
  void add_job(Sequence seq, std::int64_t finished_at_ms) {
    const std::string source = "source " + std::to_string(seq);
    Submission submission = examples::submission();
    submission.label = std::to_string(seq);
    submission.files = {{"kernel.py", sha256(source)}, {"shared.h", sha256("shared")}};
    submission.problem.hash = sha256("problem");
    const Hash key = submission_key(submission);
    put(store::Family::state, store::sequence_key(seq),
        encode(JobRecord{.seq = seq,
                         .key = key,
                         .state = JobState::finished,
                         .submitted_at_ms = finished_at_ms,
                         .finished_at_ms = finished_at_ms,
                         .last_error = "",
                         .run = "r",
                         .problem = submission.problem.hash}));
    put(store::Family::ids, store::hash_key(key), store::sequence_key(seq));
    put(store::Family::body, store::sequence_key(seq), encode(submission));
    put(store::Family::result, store::sequence_key(seq),
        encode(examples::result(ended(VerdictName::wrong_answer, {}))));
    put(store::Family::run, store::run_key("r", submission.label), encode(RunEntry{seq, {}}));
    for (const std::string& text : {source, std::string("shared"), std::string("problem")})
      put(store::Family::blob, store::hash_key(sha256(text)), text);
    put(store::Family::meta, std::string(store::kNextSequenceKey), store::sequence_key(seq + 1));
  }

  // Runs turns until the walk is complete. With `restarts`, the broker restarts after every third turn.
  void walk(const BrokerOptions& options, std::int64_t now_ms, bool restarts = false) {
    auto broker = Broker::recover(store, options, now_ms).value();
    for (int turn = 0; turn < 2'000; ++turn) {
      auto ready = broker.step(Tick{}, now_ms += options.retention_step_interval_ms);
      ASSERT_TRUE(ready) << ready.error().message;
      const bool is_complete = broker.state().retention.phase == Retention::Phase::none;
      ASSERT_TRUE(commit(std::move(*ready), store));
      if (is_complete) return;
      if (restarts && turn % 3 == 2) broker = Broker::recover(store, options, now_ms).value();
    }
    FAIL() << "the walk does not end";
  }

  std::size_t count(store::Family family) const {
    std::size_t entries = 0;
    EXPECT_TRUE(store.scan(family, "", "", [&](std::string_view, std::string_view) { return ++entries > 0; }));
    return entries;
  }

  store::MemoryStore store;
};

TEST_F(RetentionTest, the_size_of_a_step_makes_no_difference) {
  for (Sequence seq = 1; seq <= 40; ++seq) add_job(seq, seq % 3 == 0 ? 10 * kDay : kDay);
  const store::MemoryStore before = store;
  for (const std::size_t size : {1, 2, 7, 100}) {
    store = before;
    BrokerOptions options = keep_a_day();
    options.jobs_removed_per_step_max = size;
    options.records_read_per_step_max = size;
    options.files_read_per_step_max = size;
    walk(options, 10 * kDay);
    EXPECT_EQ(count(store::Family::state), 13u);
    for (const store::Family family :
         {store::Family::ids, store::Family::body, store::Family::result, store::Family::run})
      EXPECT_EQ(count(family), 13u);
    EXPECT_EQ(count(store::Family::blob), 13u + 2u) << "each job has its own file, and all share two";
    EXPECT_EQ(store::sequence_from(*store.get(store::Family::meta, store::kRetainedFromKey).value()), 3u);
  }
}

TEST_F(RetentionTest, a_restarted_broker_continues) {
  for (Sequence seq = 1; seq <= 40; ++seq) add_job(seq, kDay);
  BrokerOptions options = keep_a_day();
  options.jobs_removed_per_step_max = 2;
  walk(options, 10 * kDay, true);
  EXPECT_EQ(count(store::Family::state), 0u);
  // The files are swept some time after the start.
  walk(options, 11 * kDay);
  EXPECT_EQ(count(store::Family::blob), 0u);
}

TEST_F(RetentionTest, nothing_is_removed_without_an_option) {
  add_job(1, kDay);
  auto broker = Broker::recover(store, {}, 1'000 * kDay).value();
  EXPECT_TRUE(broker.step(Tick{}, 2'000 * kDay)->writes().empty());
}

TEST_F(RetentionTest, a_step_reads_and_removes_no_more_than_it_may) {
  for (Sequence seq = 1; seq <= 2'000; ++seq) add_job(seq, kDay);
  const BrokerOptions options = keep_a_day();
  auto broker = Broker::recover(store, options, 10 * kDay).value();
  const auto ready = broker.step(Tick{}, 10 * kDay).value();
  EXPECT_EQ(broker.state().retention.removed.size(), options.jobs_removed_per_step_max);
  EXPECT_EQ(ready.wake_at_ms(), 10 * kDay + options.retention_step_interval_ms);
  // A turn before that time does nothing.
  EXPECT_TRUE(broker.step(Tick{}, 10 * kDay + options.retention_step_interval_ms - 1)->writes().empty());
}

TEST_F(RetentionTest, a_long_walk_is_followed_by_a_longer_pause) {
  for (Sequence seq = 1; seq <= 4'000; ++seq) add_job(seq, 10 * kDay);
  BrokerOptions options = keep_a_day();
  options.records_read_per_step_max = 1;
  options.retention_step_interval_ms = 1'000;
  auto broker = Broker::recover(store, options, 10 * kDay).value();
  std::int64_t now_ms = 10 * kDay;
  for (int turn = 0; turn < 4'001; ++turn) ASSERT_TRUE(broker.step(Tick{}, now_ms += 1'000));
  EXPECT_EQ(broker.state().retention.phase, Retention::Phase::none);
  EXPECT_GE(broker.state().retention.next_ms, now_ms + 30'000'000);
}

TEST(HashFilter, has_no_false_negatives_and_few_false_positives) {
  HashFilter filter(10'000, 1);
  for (int i = 0; i < 10'000; ++i) filter.add(sha256(std::to_string(i)));
  int false_positive_count = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(filter.may_hold(sha256(std::to_string(i))));
    false_positive_count += filter.may_hold(sha256("other " + std::to_string(i)));
  }
  EXPECT_LT(false_positive_count, 100);
}

}  // namespace
}  // namespace kq::broker
