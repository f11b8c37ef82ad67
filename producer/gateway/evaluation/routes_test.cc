#include "producer/gateway/evaluation/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/evaluation/canned_service.h"

using namespace kq;
using namespace kq::gateway;
using namespace kq::gateway::evaluation;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr const char* kKernel = R"({"source_code": "class Model: 1\ndef get_inputs(): 1", "kernel_type": "torch"})";

std::string single(const std::string& more = "") {
  return "{\"kernel\": " + std::string(kKernel) + more + "}";
}
std::string pair(const std::string& more = "") {
  return "{\"ref_kernel\": " + std::string(kKernel) + ", \"custom_kernel\": " + kKernel + more + "}";
}

class RoutesTest : public testing::Test {
 protected:
  Response ask(const std::string& method, const std::string& path, const std::string& body = "",
               std::multimap<std::string, std::string> query = {}) {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.query = std::move(query);
    request.is_abandoned = [this] { return is_gone; };
    for (const Route& route : routes) {
      const std::size_t brace = route.path.find('{');
      const bool fits = brace == std::string::npos ? route.path == path : path.starts_with(route.path.substr(0, brace));
      if (route.method != method || !fits) continue;
      if (brace != std::string::npos) request.path_values["id"] = path.substr(brace);
      return route.handler(request, service);
    }
    ADD_FAILURE() << "no route " << method << " " << path;
    return {};
  }
  static std::string header(const Response& response, const std::string& name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }
  void finish_with(Verdict verdict, const std::string& model = "") {
    service.result = [=](const Submission&) {
      Result result;
      result.verdict = verdict;
      result.device.model = model;
      return result;
    };
  }
  static Verdict right() {
    Measurement measurement;
    const std::vector<std::int64_t> samples{1'000'000, 1'000'000};
    measurement.submission = measurement.reference = summarise(samples);
    return Passed{measurement, {}};
  }

  CannedService service;
  Routes routes = evaluation_routes({});
  bool is_gone = false;
};

}  // namespace

TEST_F(RoutesTest, a_comparison_is_answered_with_the_documented_headers) {
  finish_with(right(), "NVIDIA H200");
  for (const char* path : {"/compare", "/"}) {
    const Response response = ask("POST", path, pair());
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("\"ref_runtime\": {\"mean\": 1.0"));
    EXPECT_EQ(header(response, "X-GPU-Type"), "h200");
    EXPECT_EQ(header(response, "Cache-Control"), "no-cache, no-store, must-revalidate");
    EXPECT_EQ(header(response, "Pragma"), "no-cache");
    EXPECT_EQ(header(response, "Expires"), "0");
  }
  const Response legacy =
      ask("POST", "/", R"({"ref_code": "class Model: 1\ndef get_inputs(): 1", "custom_code": "c"})");
  EXPECT_EQ(legacy.status, 200);
  EXPECT_EQ(service.jobs.back().submission.time_limit_ms, 30'000u);
}

TEST_F(RoutesTest, the_answer_leaves_before_the_client_gives_up) {  // its own limit is that of the job
  finish_with(right());
  ask("POST", "/evaluate", single(", \"timeout\": 5"));
  EXPECT_THAT(service.waits, ElementsAre(4'500));
}

TEST_F(RoutesTest, a_job_that_takes_too_long_is_answered_500_and_stays_at_its_id) {
  const Response response = ask("POST", "/evaluate", single(", \"timeout\": 5"));
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr("\"error\": \"Job timed out after 5 seconds; GET /job/1."));
  EXPECT_THAT(response.body, HasSubstr("\"job_id\": \"1."));
  auto& [id, row] = *service.rows.begin();
  row.result = Result{};
  row.result->verdict = right();
  row.job.state = JobState::finished;
  const Response later = ask("GET", "/job/" + id);
  EXPECT_EQ(later.status, 200);
  EXPECT_THAT(later.body, HasSubstr("\"status\": \"completed\""));
  EXPECT_THAT(later.body, HasSubstr("\"correctness\": true"));
}

TEST_F(RoutesTest, a_client_that_goes_away_loses_nothing) {
  is_gone = true;
  EXPECT_EQ(ask("POST", "/evaluate", single()).status, 503);
  is_gone = false;
  EXPECT_EQ(ask("GET", "/job/" + service.rows.begin()->first).status, 200);
}

TEST_F(RoutesTest, without_waiting_the_answer_is_the_id) {
  const Response response = ask("POST", "/evaluate", single(), {{"wait", "0"}});
  EXPECT_EQ(response.status, 202);
  EXPECT_THAT(response.body, StartsWith("{\"job_id\": \"1."));
  EXPECT_TRUE(service.waits.empty());
  EXPECT_EQ(ask("POST", "/evaluate", single(), {{"wait", "soon"}}).status, 400);
  EXPECT_EQ(ask("POST", "/evaluate", single(), {{"wait", "601"}}).status, 400);
}

TEST_F(RoutesTest, a_job_can_be_waited_for_and_cancelled) {
  const std::string id = "/job/" + [&] {
    ask("POST", "/evaluate", single(), {{"wait", "0"}});
    return service.rows.begin()->first;
  }();
  EXPECT_THAT(ask("GET", id, "", {{"wait", "30"}}).body, HasSubstr("\"status\": \"submitted\""));
  EXPECT_THAT(service.waits, ElementsAre(30'000));
  EXPECT_THAT(ask("DELETE", id).body, HasSubstr("\"cancelled\": true"));
  for (const char* unknown : {"/job/9.cnVuAGxhYmVs", "/job/abc"}) {
    EXPECT_EQ(ask("GET", unknown).status, 404);
    EXPECT_THAT(ask("GET", unknown).body, HasSubstr("\"status\": \"error\""));
    EXPECT_EQ(ask("DELETE", unknown).status, 404);
  }
}

TEST_F(RoutesTest, a_full_queue_is_503_and_says_when_to_come_again) {
  service.ack = {.acceptance = Acceptance::busy,
                 .seq = 0,
                 .state = JobState::queued,
                 .reason = "the queue is full",
                 .retry_after_ms = 2'500};
  const Response response = ask("POST", "/evaluate", single());
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(header(response, "Retry-After"), "3");
  EXPECT_THAT(response.body, HasSubstr("\"error\": \"the queue is full\""));
}

TEST_F(RoutesTest, health_is_500_while_the_broker_is_away) {
  EXPECT_EQ(ask("GET", "/health").status, 200);
  service.error = Error{ErrorKind::our_fault, "the broker does not answer"};
  const Response response = ask("GET", "/health");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "{\"status\": \"unhealthy\", \"error\": \"the broker does not answer\"}\n");
  EXPECT_EQ(ask("GET", "/stats").status, 503);
  EXPECT_EQ(ask("POST", "/evaluate", single()).status, 503);
}

TEST_F(RoutesTest, cleanup_is_answered_as_clients_expect) {
  EXPECT_EQ(ask("POST", "/admin/cleanup-jobs").body, "{\"status\": \"cleanup_completed\"}\n");
}

TEST_F(RoutesTest, equal_requests_are_one_job_unless_a_rerun_is_asked_for) {
  finish_with(right());
  ask("POST", "/evaluate", single());
  ask("POST", "/evaluate", single());
  ask("POST", "/evaluate", single(", \"force_rerun\": true"));
  EXPECT_EQ(submission_key(service.jobs[0].submission), submission_key(service.jobs[1].submission));
  EXPECT_NE(submission_key(service.jobs[1].submission), submission_key(service.jobs[2].submission));
}
