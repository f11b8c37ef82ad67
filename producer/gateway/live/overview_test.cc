#include "producer/gateway/live/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

class OverviewTest : public testing::Test {
 protected:
  OverviewTest() {
    post_jobs(test_three_jobs(), service_);
    service_.finish("r", "c", VerdictName::wrong_answer);
  }
  FakeService service_;
};

TEST_F(OverviewTest, runs_have_their_counts_and_failures_their_names) {
  View view{Submitter{}};
  const std::string text = view.text(service_).value();
  EXPECT_THAT(text, HasSubstr(R"("run": "r", "submitter": "ada")"));
  EXPECT_THAT(text, HasSubstr(R"("jobs": 3, "queued": 2, "running": 0, "finished": 1, "passed": 0, "failed": 1)"));
  EXPECT_THAT(text, HasSubstr(R"("label": "c", "verdict": "wrong_answer")"));
}

TEST_F(OverviewTest, an_overview_is_made_anew_only_after_a_while) {
  View view{Submitter{}};
  const std::string text = view.text(service_).value();
  service_.failure_of_all = Error{ErrorKind::our_fault, "the broker does not answer"};
  EXPECT_EQ(view.text(service_).value(), text);
}

TEST_F(OverviewTest, jobs_are_found_in_the_runs_of_the_viewer) {
  View view{Submitter{}};
  ASSERT_TRUE(view.text(service_));
  EXPECT_EQ(view.find(service_, "r", {.outcome = "failed"}).value().jobs.at(0).job.label, "c");
  EXPECT_EQ(view.find(service_, "none", {}).error().kind, ErrorKind::not_found);
}

TEST_F(OverviewTest, a_thousand_workers_are_counted_and_few_are_listed) {
  View view{Submitter{}};
  const auto page = view.workers(service_, "", "", 1).value();
  EXPECT_THAT(producer::to_text(page), HasSubstr(R"("worker": "w")"));
  EXPECT_THAT(producer::to_text(page), Not(HasSubstr(R"("last_seen_at": null)")));
  EXPECT_THAT(producer::to_text(view.workers(service_, "nosuch", "", 1).value()), HasSubstr(R"("workers": [])"));
}

TEST_F(OverviewTest, a_worker_has_the_jobs_that_it_runs_in_a_page_of_workers_too) {
  service_.rows.at({"r", "b"}).job.state = JobState::leased;
  View view{Submitter{}};
  const std::string page = producer::to_text(view.workers(service_, "", "", 1).value());
  EXPECT_THAT(page, HasSubstr(R"("label": "b")"));
  EXPECT_THAT(page, Not(HasSubstr(R"("label": "a")")));
  // A page of workers makes no overview, so that the next one is of its own time.
  service_.finish("r", "a", VerdictName::crashed);
  EXPECT_THAT(view.text(service_).value(), HasSubstr(R"("label": "a", "verdict": "crashed")"));
}

TEST(Overviews, few_views_are_kept) {
  Overviews views;
  const auto first = views.of({.name = "first"}, 1);
  for (std::size_t i = 0; i < kViewsMax; ++i) views.of({.name = "s" + std::to_string(i)}, 2);
  EXPECT_NE(views.of({.name = "first"}, 3), first);
  EXPECT_EQ(views.of({.name = "first"}, 4), views.of({.name = "first"}, 5));
}

}  // namespace
}  // namespace kq::gateway
