#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RestRuns : public testing::Test {
 protected:
  RestRuns() {
    post_jobs(test_three_jobs(), service_);
    service_.finish("r", "b", VerdictName::wrong_answer);
    service_.page_rows = 2;
  }
  static Request request(const std::string& run, std::multimap<std::string, std::string> query = {}) {
    Request made = test_request("GET", "/api/v1/runs/x");
    made.path_values["run"] = run;
    made.query = std::move(query);
    return made;
  }
  static std::string all_of(const Response& response) {
    std::string text;
    EXPECT_TRUE(response.stream([&](std::string_view bytes) {
      text += bytes;
      return true;
    }));
    return text;
  }

  FakeService service_;
};

TEST_F(RestRuns, runs_are_listed) {
  EXPECT_THAT(get_runs(request(""), service_).body,
              StartsWith(R"({"runs": [{"run": "r", "submitter": "ada", "submitted_at": "1970-01-01T00:00:01Z"}])"));
  EXPECT_EQ(get_runs(request("", {{"limit", "0"}}), service_).status, 400);
  EXPECT_THAT(get_runs(request("", {{"after", "\xC2\x9B"}}), service_).body,
              HasSubstr("after holds a control character"));
  EXPECT_EQ(get_runs(request("", {{"after", ""}}), service_).status, 200);
}

TEST_F(RestRuns, the_jobs_of_a_run_are_counted) {
  EXPECT_EQ(get_run(request("r"), service_).body,
            "{\"run\": \"r\", \"jobs\": 3, \"queued\": 2, \"running\": 0, \"finished\": 1, \"passed\": 0, "
            "\"verdicts\": {\"wrong_answer\": 1}}\n");
  EXPECT_EQ(get_run(request("none"), service_).status, 404);
}

TEST_F(RestRuns, rows_come_in_pages) {
  const Response first = get_run_results(request("r", {{"columns", "label,verdict"}, {"limit", "2"}}), service_);
  EXPECT_EQ(first.body,
            "{\"run\": \"r\", \"rows\": [{\"label\": \"a\", \"verdict\": null}, {\"label\": \"b\", "
            "\"verdict\": \"wrong_answer\"}], \"next\": \"b\"}\n");
  const Response second = get_run_results(request("r", {{"columns", "label"}, {"after", "b"}}), service_);
  EXPECT_EQ(second.body, "{\"run\": \"r\", \"rows\": [{\"label\": \"c\"}], \"next\": null}\n");
  const Response behind = get_run_results(request("r", {{"after", "c"}}), service_);
  EXPECT_EQ(behind.body, "{\"run\": \"r\", \"rows\": [], \"next\": null}\n");
  EXPECT_EQ(get_run_results(request("none", {{"after", "c"}}), service_).status, 404);
}

TEST_F(RestRuns, all_rows_are_streamed_as_lines) {
  EXPECT_EQ(all_of(get_run_results(request("r", {{"columns", "label,state"}, {"format", "csv"}}), service_)),
            "label,state\na,queued\nb,finished\nc,queued\n");
  Request lines = request("r", {{"columns", "label"}, {"where", "label!=a"}, {"where", "label!=c"}});
  lines.headers["accept"] = "application/jsonl";
  EXPECT_EQ(all_of(get_run_results(lines, service_)), "{\"label\": \"b\"}\n");
}

TEST_F(RestRuns, the_format_is_what_the_client_accepts_most) {
  for (const auto& [accept, type] : {std::pair{"*/*", "application/json"}, std::pair{"text/html", "application/json"},
                                     std::pair{"text/csv", "text/csv; charset=utf-8"},
                                     std::pair{"text/csv;q=0.5, application/json", "application/json"},
                                     std::pair{"application/json;q=0.2,application/x-ndjson", "application/jsonl"},
                                     std::pair{"text/csv, application/json", "text/csv; charset=utf-8"},
                                     std::pair{", ;q=, ;", "application/json"}}) {
    Request wish = request("r");
    wish.headers["accept"] = accept;
    EXPECT_EQ(get_run_results(wish, service_).type, type) << accept;
  }
}

TEST_F(RestRuns, wrong_wishes_are_named) {
  for (const auto& [name, value] :
       {std::pair{"format", "xml"}, std::pair{"format", ""}, std::pair{"columns", "nothing"},
        std::pair{"where", "label"}, std::pair{"limit", "257"}, std::pair{"after", "a\nb"}, std::pair{"since", "x"},
        std::pair{"level", "planet"}})
    EXPECT_THAT(get_run_results(request("r", {{name, value}}), service_).body,
                AllOf(HasSubstr("\"status\": 400"), HasSubstr(name), Not(HasSubstr("--" + std::string(name)))));
  EXPECT_EQ(get_run_results(request("none"), service_).status, 404);
}

TEST_F(RestRuns, events_tell_the_progress_until_the_end) {
  const std::string events = all_of(get_run_events(request("r"), service_));
  EXPECT_THAT(events, StartsWith("event: progress\ndata: {\"run\": \"r\", \"jobs\": 3, \"queued\": 2"));
  EXPECT_THAT(events, HasSubstr("\"finished\": 2"));
  EXPECT_THAT(events, EndsWith("\"verdicts\": {\"passed\": 2, \"wrong_answer\": 1}}\n\n"));
  EXPECT_THAT(events, HasSubstr("id: finished\nevent: finished\n"));
  EXPECT_EQ(get_run_events(request("none"), service_).status, 404);
}

// A browser would connect for ever.
TEST_F(RestRuns, a_client_that_knows_the_last_event_gets_no_content) {
  Request again = request("r");
  again.headers["last-event-id"] = "finished";
  EXPECT_TRUE(get_run_events(again, service_).stream) << "the run has gone on since then";
  service_.finish("r", "a", VerdictName::passed);
  service_.finish("r", "c", VerdictName::passed);
  const Response response = get_run_events(again, service_);
  EXPECT_EQ(response.status, 204);
  EXPECT_FALSE(response.stream);
  EXPECT_TRUE(get_run_events(request("r"), service_).stream);
}

TEST_F(RestRuns, a_stream_ends_with_its_client) {
  const Response response = get_run_events(request("r"), service_);
  EXPECT_FALSE(response.stream([](std::string_view) { return false; }));
}

}  // namespace
}  // namespace kq::gateway
