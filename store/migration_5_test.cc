#include "store/migration_5.h"

#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/migration.h"

namespace kq::store {
namespace {

class Migration5 : public testing::Test {
 protected:
  void put(Family family, const std::string& key, const std::string& value) {
    EXPECT_TRUE(store.commit(std::vector<Write>{{family, key, value}}));
  }
  void add_passed(Sequence seq, const std::string& kernel, double median_ns, std::uint32_t samples = 20,
                  Baseline baseline = Baseline::eager) {
    Submission submission;
    submission.label = kernel + std::to_string(seq);
    submission.problem.name = "relu";
    submission.problem.hash = sha256("relu");
    submission.files = {{"k.py", sha256(kernel)}};
    submission.trials.baseline = baseline;
    Passed passed;
    passed.measurement.submission = {.sample_count = samples, .median_ns = median_ns};
    passed.measurement.reference = {.sample_count = samples, .median_ns = 100};
    Result result;
    result.verdict = passed;
    result.device.model = "H200";
    JobRecord job;
    job.seq = seq;
    job.state = JobState::finished;
    job.finished_at_ms = static_cast<std::int64_t>(seq);
    put(Family::state, sequence_key(seq), encode(job));
    put(Family::body, sequence_key(seq), encode(submission));
    put(Family::result, sequence_key(seq), encode(result));
  }
  std::optional<LeaderboardRow> first_place(const Hash& board) const {
    const auto bytes = store.get(Family::board, board_key(board, "H200")).value();
    return bytes ? std::optional(decode<LeaderboardRow>(*bytes).value()) : std::nullopt;
  }

  MemoryStore store;
};

TEST_F(Migration5, boards_are_computed_anew_from_the_jobs_in_slices) {
  add_passed(1, "a", 50);
  add_passed(2, "lucky", 10, 1);
  add_passed(3, "a", 54);
  add_passed(4, "b", 70);
  add_passed(5, "c", 30, 20, Baseline::compile);
  LeaderboardRow old;
  old.seq = 2;
  put(Family::board, board_key(sha256("relu"), "H200"), encode(old));
  put(Family::board, board_key(sha256("an old board"), "H200"), encode(old));
  ASSERT_TRUE(migrate(
      store, 4, [](const std::string&) {}, 2));
  const auto first = first_place(sha256("relu"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->label, "a1");
  EXPECT_EQ(first->median_ns, 52);
  EXPECT_EQ(first->runs.size(), 2u);
  Submission compiled;
  compiled.problem.hash = sha256("relu");
  compiled.trials.baseline = Baseline::compile;
  EXPECT_EQ(first_place(board_hash(compiled))->label, "c5");
  EXPECT_FALSE(first_place(sha256("an old board")));
  EXPECT_TRUE(store.get(Family::kernel, kernel_key(sha256("relu"), sha256("b"), "H200")).value());
  EXPECT_EQ(store.get(Family::meta, kSchemaKey).value(), std::to_string(kSchemaVersion));
}

TEST_F(Migration5, a_store_without_jobs_has_no_boards) {
  ASSERT_TRUE(migrate(store, 4, [](const std::string&) {}));
  EXPECT_FALSE(first_place(sha256("relu")));
}

}  // namespace
}  // namespace kq::store
