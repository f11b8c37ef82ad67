// The files cancel.txt, pause.txt and abandoned.txt in testdata test what each operation does. These tests cover the
// limits.
#include "broker/requests/operate.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class OperationsTest : public testing::Test {
 protected:
  std::string refusal_of(const auto& request, Role role = Role::admin) {
    Ready ready;
    Step step{state, ready, 1000};
    EXPECT_TRUE(answer(step, {.peer = "c", .request_id = 1, .identity = {.name = "ada", .role = role}}, request));
    EXPECT_TRUE(ready.writes().empty());
    EXPECT_TRUE(ready.backups().empty());
    return std::get<Refused>(std::get<ToClient>(commit(std::move(ready), store)->at(0)).message.body).reason;
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(OperationsTest, only_admins_manage_the_queue) {
  const std::string refusal = "the key of ada may submit and read; this needs a key with the role admin";
  EXPECT_EQ(refusal_of(RetryJobs{{1}}, Role::submit), refusal);
  EXPECT_EQ(refusal_of(PurgeDead{{1}}, Role::submit), refusal);
  EXPECT_EQ(refusal_of(Pause{}, Role::submit), refusal);
  EXPECT_EQ(refusal_of(Drain{.worker = "w"}, Role::submit), refusal);
  EXPECT_EQ(refusal_of(Backup{.dir = "/b"}, Role::submit), refusal);
}

TEST_F(OperationsTest, names_and_numbers_are_bounded) {
  EXPECT_EQ(refusal_of(CancelJobs{std::vector<Sequence>(kQuerySeqsMax + 1)}),
            "4097 jobs in one request, at most 4096 are allowed");
  EXPECT_EQ(refusal_of(Pause{.submitter = "a\nb"}), "submitter holds a control character at byte 1");
  EXPECT_EQ(refusal_of(Drain{.worker = ""}), "the worker's name is empty");
  EXPECT_EQ(refusal_of(Backup{.dir = "b"}), "backup 'b': an absolute path on the broker's machine is needed");
}

TEST_F(OperationsTest, pausing_a_paused_submitter_needs_no_room) {
  state.options.submitters_max = 1;
  for (int i = 0; i < 2; ++i) {
    Ready ready;
    Step step{state, ready, 1000};
    ASSERT_TRUE(answer(step, {.peer = "c", .request_id = 1}, Pause{.submitter = "ada"}));
    EXPECT_EQ(ready.writes().size(), 1u) << "of request " << i;
  }
  EXPECT_EQ(refusal_of(Pause{.submitter = "ben"}), "1 submitters are paused, the limit");
}

TEST_F(OperationsTest, a_backup_waits_for_the_commit_of_its_turn) {
  Ready ready;
  Step step{state, ready, 1000};
  ASSERT_TRUE(answer(step, {.peer = "c", .request_id = 7}, Backup{.dir = "/b"}));
  ASSERT_EQ(ready.backups().size(), 1u);
  EXPECT_EQ(ready.backups()[0].request_id, 7u);
  EXPECT_TRUE(commit(std::move(ready), store)->empty()) << "the shell answers";
}

}  // namespace
}  // namespace kq::broker
