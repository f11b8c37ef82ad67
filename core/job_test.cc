#include "core/job.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

constexpr std::optional<JobState> kNoChange = std::nullopt;

struct Row {
  JobState state;
  std::optional<JobState> on_lease, on_requeue, on_finish, on_revive;
};

constexpr Row kLifecycle[] = {
    {JobState::queued, JobState::leased, kNoChange, JobState::finished, kNoChange},
    {JobState::leased, kNoChange, JobState::queued, JobState::finished, kNoChange},
    {JobState::finished, kNoChange, kNoChange, kNoChange, JobState::queued},
};

TEST(JobLifecycle, is_this_table) {
  static_assert(std::size(kLifecycle) == kEnumNames<JobState>.size());
  for (const Row& row : kLifecycle) {
    EXPECT_EQ(after(row.state, JobEvent::lease), row.on_lease) << to_string(row.state);
    EXPECT_EQ(after(row.state, JobEvent::requeue), row.on_requeue) << to_string(row.state);
    EXPECT_EQ(after(row.state, JobEvent::finish), row.on_finish) << to_string(row.state);
    EXPECT_EQ(after(row.state, JobEvent::revive), row.on_revive) << to_string(row.state);
  }
}

}  // namespace
}  // namespace kq
