// Verifies a store that a broker wrote (testdata/schema_1, migrated), first whole and then with each invariant broken.
#include "store/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "core/bytes/compress.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/records.h"
#include "store/boards.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/reader.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    const TemporaryDirectory directory;
    const std::string dir = directory.path() + "/store";
    std::filesystem::copy(std::string(KQ_STORES) + "/schema_1", dir);
    const auto disk = open_rocks_store(dir, OpenMode::read_write, {.space = {.reserve_bytes = 0}});
    ASSERT_TRUE(disk);
    for (const std::string_view name : kEnumNames<Family>) {
      const Family family = *parse_enum<Family>(name);
      ASSERT_TRUE((*disk)->scan(family, "", "", [&](std::string_view key, std::string_view value) {
        put(family, std::string(key), std::string(value));
        return true;
      }));
    }
    fill_boards();
  }

  // The jobs of the store have too few samples for a board.
  void fill_boards() {
    PendingBoards pending;
    for (Sequence seq = 1; seq <= 13; ++seq) {
      auto result = *read_result(store, seq, false);
      auto* const passed = result ? std::get_if<Passed>(&result->verdict) : nullptr;
      if (passed == nullptr) continue;
      passed->measurement.submission.sample_count = passed->measurement.reference.sample_count = 20;
      put(Family::result, sequence_key(seq), encode(*result));
      const auto row =
          board_row(*read_body(store, seq).value(), *result, seq, read_job(store, seq).value()->finished_at_ms);
      if (!row) continue;
      ASSERT_TRUE(
          add_to_boards(store, pending, *row, [this](Family family, std::string key, std::optional<std::string> value) {
            put(family, std::move(key), std::move(value));
          }));
    }
  }

  void put(Family family, std::string key, std::optional<std::string> value) {
    const Write write{family, std::move(key), std::move(value)};
    ASSERT_TRUE(store.commit({&write, 1}));
  }

  template <class T>
  void change(Family family, const std::string& key, const std::function<void(T&)>& how) {
    T record = decode<T>(*store.get(family, key).value()).value();
    how(record);
    put(family, key, encode(record));
  }

  std::vector<std::string> problems() {
    std::vector<std::string> lines;
    const auto found = verify(store, [&](const std::string& line) { lines.push_back(line); });
    EXPECT_TRUE(found);
    EXPECT_EQ(found->problem_count, lines.size());
    return lines;
  }

  MemoryStore store;
};

TEST_F(VerifyTest, a_store_of_a_broker_has_no_problems) {
  const auto found = verify(store, [](const std::string& line) { ADD_FAILURE() << line; });
  EXPECT_EQ(found.value(), (Verified{.queued_count = 7,
                                     .leased_count = 2,
                                     .finished_count = 4,
                                     .result_count = 4,
                                     .blob_count = found->blob_count,
                                     .blob_bytes = found->blob_bytes,
                                     .label_count = 13,
                                     .board_row_count = 2}));
  EXPECT_GT(found->blob_bytes, 3'000u);
}

TEST_F(VerifyTest, an_empty_store_has_no_problems) {
  EXPECT_EQ(verify(MemoryStore(), [](const std::string&) {}).value(), Verified{});
}

struct Broken {
  std::string what;
  Family family;
  std::string key;
  std::optional<std::string> value;
  std::string line;  // a part of the expected line
};

TEST_F(VerifyTest, every_broken_invariant_is_reported) {
  const JobRecord seven = *read_job(store, 7).value();
  const SourceFile file = read_body(store, 7).value()->files.at(0);
  const Problem problem = read_body(store, 3).value()->problem;
  RunEntry nobody{.seq = 99, .submission = {}};
  nobody.submission.label = "x";
  const BuildObject object{
      .kind = DeviceKind::cuda, .arch = "sm_90", .key = sha256("key"), .hash = sha256("another"), .bytes = "code"};
  const std::vector<Broken> cases = {
      {"record garbled", Family::state, sequence_key(3), "x", "family 'state', job 3 is unreadable"},
      {"submission gone", Family::body, sequence_key(3), std::nullopt,
       "family 'state', job 3: its submission is missing"},
      {"submission garbled", Family::body, sequence_key(3), "x", "job 3: its submission: store, family 'body', job 3"},
      {"result gone", Family::result, sequence_key(3), std::nullopt,
       "family 'state', job 3: it is finished, its result is missing"},
      {"result of nobody", Family::result, sequence_key(99), *store.get(Family::result, sequence_key(1)).value(),
       "family 'result', job 99 is missing"},
      {"samples garbled", Family::samples, sequence_key(1), "x", "family 'samples', job 1: "},
      {"key gone", Family::ids, hash_key(seven.key), std::nullopt, "job 7: family 'ids' does not lead to it"},
      {"key of another", Family::ids, hash_key(seven.key), sequence_key(8), "leads to job 8, which has another key"},
      {"file garbled", Family::blob, hash_key(sha256("a")), "b", "but its SHA-256 is"},
      {"label of nobody", Family::run, run_key("second", "x"), encode(nobody),
       "family 'run', run 'second', label 'x': job 99 is missing"},
      {"board gone", Family::board, board_key(sha256("softmax"), "cpu"), std::nullopt,
       "job 5 passed, and its board has no row"},
      {"file gone", Family::blob, hash_key(file.hash), std::nullopt,
       "family 'state', job 7: its file '" + file.name + "' (SHA-256 " + to_hex(file.hash) + ") is missing"},
      {"problem gone", Family::blob, hash_key(problem.hash), std::nullopt,
       "family 'state', job 3: its problem '" + problem.file + "' (SHA-256 " + to_hex(problem.hash) + ") is missing"},
      {"place gone", Family::queue, queue_key({.needs = 1}, 7), std::nullopt, "8 entries for 9 jobs"},
      {"place of a finished job", Family::queue, queue_key({.needs = 1}, 1), queue_value({}),
       "job 1 has a place and is finished"},
      {"wrong lane", Family::queue, queue_key({.needs = 2}, 7), queue_value({}),
       "job 7 stands in another lane than its own"},
      {"timer of nobody", Family::timer, timer_key({.at_ms = 5, .kind = TimerKind::may_run, .seq = 99}),
       timer_value({}, {}), "family 'timer', job 99 is missing"},
      {"timer of a job that does not wait", Family::timer,
       timer_key({.at_ms = 5, .kind = TimerKind::may_run, .seq = 7}), timer_value({.needs = 1}, {}),
       "family 'timer', job 7 has a time to be queued and does not wait for it"},
      {"deadline of a job that has none", Family::timer,
       timer_key({.at_ms = seven.submitted_at_ms + 1, .kind = TimerKind::expires, .seq = 7}), "",
       "family 'timer', job 7 has a time to expire and not that deadline"},
      {"dead and alive", Family::dead, sequence_key(7), "",
       "family 'dead', job 7 is a dead letter and is not finished"},
      {"label of nobody, the way back", Family::reuse, reuse_key(99, "r"), reuse_value(1),
       "family 'reuse', job 99 is missing"},
      {"way back garbled", Family::reuse, reuse_key(7, "r"), "x", "family 'reuse', an entry is unreadable"},
      {"submission of nobody", Family::body, sequence_key(99), *store.get(Family::body, sequence_key(1)).value(),
       "family 'body', job 99 is missing"},
      {"object garbled", Family::object, sequence_key(7), "x", "family 'object', job 7 is unreadable"},
      {"object of another content", Family::object, sequence_key(7), encode(object),
       "job 7: the object is not what its name says"},
      {"object of a finished job", Family::object, sequence_key(1), encode(object),
       "job 1 is finished and has an object"},
      {"removed and there", Family::meta, std::string(kRetainedFromKey), sequence_key(2),
       "retained_from is above job 1"},
      {"next sequence", Family::meta, std::string(kNextSequenceKey), sequence_key(13),
       "next_sequence is not above job 13"},
  };
  for (const Broken& broken : cases) {
    const MemoryStore whole = store;
    put(broken.family, broken.key, broken.value);
    EXPECT_THAT(problems(), Contains(HasSubstr(broken.line))) << broken.what;
    store = whole;
  }
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(VerifyTest, a_file_is_found_in_each_packing) {
  const Hash hash = read_body(store, 7).value()->files.at(0).hash;
  const std::string content = *store.get(Family::blob, hash_key(hash)).value();
  ASSERT_LT(content.size(), 15u);  // short enough that its LZ4 block is one length byte and the content
  const auto n = static_cast<char>(content.size());
  const std::string packed = std::string(3, '\0') + n + static_cast<char>(n << 4) + content;
  put(Family::blob, hash_key(hash), std::nullopt);
  EXPECT_THAT(problems(), testing::Not(IsEmpty()));
  put(Family::blob, blob_key(hash, Packing::lz4), packed);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(VerifyTest, a_job_that_waits_has_the_timer_that_wakes_it_in_its_lane) {
  const TimerPlace place{.at_ms = 5'000, .kind = TimerKind::may_run, .seq = 7};
  change<JobRecord>(Family::state, sequence_key(7), [&](JobRecord& job) { job.not_before_ms = place.at_ms; });
  put(Family::queue, queue_key({.needs = 1}, 7), std::nullopt);
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("family 'state', job 7 waits, and family 'timer' does not have its time")));
  put(Family::timer, timer_key(place), timer_value({.needs = 2}, {}));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("family 'timer', job 7 stands in another lane than its own")));
  put(Family::timer, timer_key(place), "x");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("family 'timer', an entry is unreadable")));
  put(Family::timer, timer_key(place), timer_value({.needs = 1}, {}));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(VerifyTest, a_job_that_has_not_begun_has_the_timer_of_its_deadline) {
  const JobRecord seven = *read_job(store, 7).value();
  const TimerPlace place{.at_ms = seven.submitted_at_ms + 1'000, .kind = TimerKind::expires, .seq = 7};
  change<JobRecord>(Family::state, sequence_key(7), [&](JobRecord& job) { job.deadline_ms = place.at_ms; });
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("family 'state', job 7 has a deadline, and family 'timer' does not have it")));
  put(Family::timer, timer_key(place), "");
  EXPECT_THAT(problems(), IsEmpty());
  // The job has begun, so its timer has no effect and is gone once it has fired.
  change<JobRecord>(Family::state, sequence_key(7), [&](JobRecord& job) { job.leased_at_ms = seven.submitted_at_ms; });
  EXPECT_THAT(problems(), IsEmpty());
  put(Family::timer, timer_key(place), std::nullopt);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(VerifyTest, the_timer_of_a_deadline_is_removed_with_its_job_unless_it_is_due) {
  const std::int64_t ended_at_ms = read_job(store, 1).value()->finished_at_ms;
  const auto with_deadline = [&](std::int64_t deadline_ms) {
    change<JobRecord>(Family::state, sequence_key(1), [&](JobRecord& job) { job.deadline_ms = deadline_ms; });
    put(Family::timer, timer_key({.at_ms = deadline_ms, .kind = TimerKind::expires, .seq = 1}), "");
  };
  const MemoryStore whole = store;
  with_deadline(ended_at_ms);
  EXPECT_THAT(problems(), IsEmpty());
  store = whole;
  with_deadline(ended_at_ms + 1);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("family 'timer', job 1 has a time to expire and is finished")));
}

TEST_F(VerifyTest, boards_are_those_of_the_jobs_that_passed) {
  const std::string relu = board_key(sha256("relu"), "cpu");
  const MemoryStore whole = store;
  change<LeaderboardRow>(Family::board, relu, [](LeaderboardRow& row) { row.label = "another"; });
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("has another figure as a kernel than on its board")));
  store = whole;
  change<LeaderboardRow>(Family::board, relu, [](LeaderboardRow& row) { row.median_ns *= 1e6; });
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("which has the first place")));
  store = whole;
  const auto first = decode<LeaderboardRow>(*store.get(Family::board, relu).value()).value();
  change<LeaderboardRow>(Family::kernel, kernel_key(first.problem_hash, first.kernel_hash, first.device_model),
                         [](LeaderboardRow& row) { row.runs.front().median_ns = 1; });
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("did not pass with what the row says")));
}

}  // namespace
}  // namespace kq::store
