#include "broker/tables/accounts.h"

#include <gtest/gtest.h>

namespace kq::broker {
namespace {

TEST(AccountsTest, different_requirements_are_counted_by_submitter) {
  Accounts accounts;
  const store::LaneId lane{.needs = 1, .priority = Priority::normal, .submitter = 7};
  const store::LaneId same_needs{.needs = 1, .priority = Priority::high, .submitter = 7};
  const store::LaneId other_needs{.needs = 2, .priority = Priority::normal, .submitter = 7};
  const store::LaneId other_submitter{.needs = 1, .priority = Priority::normal, .submitter = 8};
  for (const store::LaneId& id : {lane, same_needs, other_needs, other_submitter}) accounts.add(id, 10);
  EXPECT_EQ(accounts.of(7), (Account{.jobs = 3, .bytes = 30, .classes = 2}));
  EXPECT_EQ(accounts.of(8), (Account{.jobs = 1, .bytes = 10, .classes = 1}));

  for (const store::LaneId& id : {lane, same_needs, other_needs}) accounts.remove(id, 10);
  EXPECT_EQ(accounts.of(7), Account{});
  EXPECT_FALSE(accounts.uses(7, 1));
  EXPECT_TRUE(accounts.uses_needs(1)) << "another submitter has such a job";
  EXPECT_FALSE(accounts.uses_needs(2));
}

}  // namespace
}  // namespace kq::broker
