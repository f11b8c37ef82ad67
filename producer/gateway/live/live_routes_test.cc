#include "producer/gateway/live/live_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LiveRoutes : public testing::Test {
 protected:
  LiveRoutes() {
    Request request = test_request("POST", "/api/v1/jobs", test_line("a") + test_line("b"));
    request.query.emplace("run", "r");
    post_jobs(request, service_);
    service_.finish("r", "b", VerdictName::wrong_answer);
  }
  Response ask(const std::string& method, const std::string& path, const Request& request) {
    const auto route =
        std::ranges::find_if(routes_, [&](const Route& one) { return one.method == method && one.path == path; });
    EXPECT_NE(route, routes_.end()) << path;
    return route->handler(request, service_);
  }
  Response get(const std::string& path, std::multimap<std::string, std::string> query = {}) {
    Request request = test_request("GET", path);
    request.path_values = {{"run", "r"}, {"id", id_.text()}};
    request.query = std::move(query);
    return ask("GET", path, request);
  }
  Response post(const std::string& path, const std::string& body, const std::string& worker = "w") {
    Request request = test_request("POST", path, body);
    request.path_values = {{"id", id_.text()}, {"run", id_.run}, {"worker", worker}};
    return ask("POST", path, request);
  }

  FakeService service_;
  Routes routes_ = live_routes("<!doctype html>");
  JobId id_{.seq = 1, .run = "r", .label = "a"};
};

TEST_F(LiveRoutes, no_other_page_may_show_the_page_in_a_frame) {
  const Response page = get("/");
  EXPECT_EQ(page.body, "<!doctype html>");
  EXPECT_THAT(page.headers, testing::Contains(testing::Pair("Content-Security-Policy", "frame-ancestors 'none'")));
  routes_ = live_routes("");
  EXPECT_EQ(get("/").status, 303);
}

TEST_F(LiveRoutes, the_overview_says_what_its_reader_may_do) {
  EXPECT_THAT(get("/api/v1/overview").body,
              StartsWith(R"({"now": "2027-01-15T08:00:00Z", "viewer": {"submitter": "", "is_operator": false})"));
}

TEST_F(LiveRoutes, events_are_sent_until_the_reader_leaves_or_the_gateway_stops) {
  const Response response = get("/api/v1/overview/events");
  std::string text;
  EXPECT_FALSE(response.stream([&](std::string_view bytes) {
    text += bytes;
    return false;
  }));
  EXPECT_THAT(text, StartsWith("event: overview\ndata: {\"now\""));
  EXPECT_EQ(text.find('\n', text.find("data: ")) + 2, text.size());  // the data is one line
  service_.stops = true;
  EXPECT_TRUE(response.stream([](std::string_view) { return true; }));
}

TEST_F(LiveRoutes, a_broker_that_is_away_is_an_event) {
  service_.failure_of_all = Error{ErrorKind::our_fault, "the broker does not answer"};
  service_.stops = true;
  std::string text;
  EXPECT_TRUE(get("/api/v1/overview/events").stream([&](std::string_view bytes) {
    text += bytes;
    return true;
  }));
  EXPECT_EQ(text, "event: error\ndata: \"the broker does not answer\"\n\n");
  EXPECT_EQ(get("/api/v1/overview").status, 503);
}

TEST_F(LiveRoutes, jobs_are_found_by_number_id_and_label) {
  EXPECT_THAT(get("/api/v1/search", {{"q", "B"}}).body, HasSubstr(R"("label": "b", "state": "finished")"));
  EXPECT_THAT(get("/api/v1/search", {{"q", id_.text()}}).body, HasSubstr(R"("label": "a", "state": "queued")"));
  EXPECT_THAT(get("/api/v1/search", {{"q", "999"}}).body, HasSubstr(R"("jobs": [])"));
  EXPECT_EQ(get("/api/v1/search").status, 400);
  EXPECT_EQ(get("/api/v1/search", {{"q", std::string(201, 'a')}}).status, 400);
}

TEST_F(LiveRoutes, the_jobs_of_a_run_come_in_pages) {
  EXPECT_THAT(get("/api/v1/runs/{run}/jobs", {{"limit", "1"}}).body, HasSubstr(R"("next": "a")"));
  EXPECT_THAT(get("/api/v1/runs/{run}/jobs", {{"outcome", "failed"}}).body, HasSubstr(R"("count": 1)"));
  EXPECT_EQ(get("/api/v1/runs/{run}/jobs", {{"outcome", "bad"}}).status, 400);
  EXPECT_EQ(get("/api/v1/runs/{run}/jobs", {{"limit", "101"}}).status, 400);
}

TEST_F(LiveRoutes, details_have_sources_and_the_command) {
  const Response details = get("/api/v1/jobs/{id}/details");
  EXPECT_EQ(details.status, 200);
  EXPECT_THAT(details.body, HasSubstr("import torch\\n"));
  EXPECT_THAT(details.body, HasSubstr("kq submit"));
  id_.label = "nosuch";
  EXPECT_EQ(get("/api/v1/jobs/{id}/details").status, 404);
}

TEST_F(LiveRoutes, a_run_is_cancelled_as_far_as_its_jobs_are_not_finished) {
  EXPECT_EQ(post("/api/v1/runs/{run}/cancel", "").body,
            "{\"run\": \"r\", \"cancelled\": 1, \"kept\": 0, \"has_more\": false}\n");
  id_.run = "nosuch";
  EXPECT_EQ(post("/api/v1/runs/{run}/cancel", "").status, 404);
}

TEST_F(LiveRoutes, operators_retry_pause_and_drain) {
  EXPECT_THAT(post("/api/v1/jobs/{id}/retry", "").body, HasSubstr(R"("state": "queued")"));
  EXPECT_THAT(post("/api/v1/pause", R"({"paused": true, "submitter": "ada"})").body,
              HasSubstr(R"("submitter": "ada", "paused": true)"));
  ASSERT_EQ(service_.pauses.size(), 1u);
  EXPECT_EQ(service_.pauses[0].submitter, "ada");
  EXPECT_EQ(post("/api/v1/workers/{worker}/drain", R"({"draining": true})").status, 200);
  ASSERT_EQ(service_.drains.size(), 1u);
  EXPECT_EQ(post("/api/v1/workers/{worker}/drain", R"({"draining": true})", "nosuch").status, 404);
  EXPECT_EQ(post("/api/v1/workers/{worker}/drain", R"({"draining": false})", "nosuch").status, 200);
  EXPECT_EQ(post("/api/v1/pause", "[]").status, 400);
  EXPECT_EQ(post("/api/v1/pause", R"({"paused": 1})").status, 400);
  EXPECT_EQ(post("/api/v1/pause", R"({"paused": true, "submitter": 1})").status, 400);
  for (const Route& route : routes_) {
    const bool is_operation = route.method == "POST" && route.path != "/api/v1/runs/{run}/cancel";
    EXPECT_EQ(route.access == Access::operators, is_operation) << route.path;
  }
}

}  // namespace
}  // namespace kq::gateway
