#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

class RestSubmit : public testing::Test {
 protected:
  Response post(const std::string& body, const std::string& key = "", const std::string& run = "") {
    Request request = test_request("POST", "/api/v1/jobs", body);
    request.submitter.name = "ada";
    if (!key.empty()) request.headers["idempotency-key"] = key;
    if (!run.empty()) request.query.emplace("run", run);
    return post_jobs(request, service_);
  }
  static producer::Json json(const Response& response) { return producer::parse_json(response.body).value(); }
  static bool is_replay(const Response& response) {
    return !response.headers.empty() && response.headers.back().first == "Idempotency-Replayed";
  }

  FakeService service_;
};

TEST_F(RestSubmit, new_jobs_are_created) {
  const Response response = post(test_line("a") + test_line("b"), "", "r");
  EXPECT_EQ(response.status, 201);
  const producer::Json body = json(response);
  EXPECT_EQ(*body.find("run")->text(), "r");
  EXPECT_EQ(*body.find("accepted")->integer(), 2);
  const producer::Json& second = (*body.find("jobs")->array())[1];
  EXPECT_EQ(*second.find("id")->text(), (JobId{2, "r", "b"}.text()));
  EXPECT_EQ(*second.find("acceptance")->text(), "accepted");
  EXPECT_EQ(service_.submitters, std::vector<std::string>{"ada"});
}

TEST_F(RestSubmit, known_jobs_are_answered_again) {
  post(test_line("a"), "", "r");
  EXPECT_EQ(post(test_line("a"), "", "r").status, 200);
  EXPECT_EQ(post(test_line("a") + test_line("b"), "", "r").status, 201);
}

TEST_F(RestSubmit, a_run_without_a_name_gets_one) {
  EXPECT_EQ(*json(post(test_line("a"))).find("run")->text(), "http-0123456789abcdef");
}

TEST_F(RestSubmit, a_key_makes_the_repeated_request_the_same) {
  const Response first = post(test_line("a"), "key");
  const Response second = post(test_line("a"), "key");
  EXPECT_EQ(first.status, 201);
  EXPECT_FALSE(is_replay(first));
  EXPECT_EQ(second.status, 200);
  EXPECT_TRUE(is_replay(second));
  EXPECT_EQ(*json(first).find("run")->text(), *json(second).find("run")->text());
  EXPECT_NE(*json(post(test_line("a"), "other")).find("run")->text(), *json(first).find("run")->text());
}

TEST_F(RestSubmit, a_key_belongs_to_one_request) {
  post(test_line("a"), "key");
  EXPECT_EQ(post(test_line("b"), "key").status, 422);
  post(test_line("a"), "key", "r");
  EXPECT_EQ(post(test_line("b"), "key", "r").status, 422);
  EXPECT_EQ(post(test_line("b"), "key2", "r").status, 201);
  EXPECT_EQ(post(test_line("c"), std::string(256, 'k')).status, 400);
}

// Clients draw a boundary for each form.
TEST_F(RestSubmit, a_form_is_the_same_request_under_another_boundary) {
  const auto form = [&](const std::string& boundary, std::string_view kernel) {
    const auto part = [&](const std::string& head, std::string_view content) {
      return "--" + boundary + "\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + std::string(content) +
             "\r\n";
    };
    Request request = test_request("POST", "/api/v1/jobs");
    request.body = part("name=kernel; filename=a.py", kernel) + part("name=problem; filename=p.py", kTestProblem) +
                   "--" + boundary + "--\r\n";
    request.headers["content-type"] = "multipart/form-data; boundary=" + boundary;
    request.headers["idempotency-key"] = "key";
    return post_jobs(request, service_);
  };
  const Response first = form("one", kTestKernel);
  const Response again = form("two", kTestKernel);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_TRUE(is_replay(again));
  EXPECT_EQ(form("three", std::string(kTestKernel) + "# another\n").status, 422);
}

TEST_F(RestSubmit, a_misspelt_key_of_a_line_is_noted_in_the_answer) {
  std::string misspelt = test_line("a");
  misspelt.insert(1, R"("gpu_model": "H100", "model": "m1", )");
  const Response response = post(misspelt, "", "r");
  EXPECT_EQ(response.status, 201);
  ASSERT_NE(json(response).find("notes"), nullptr) << response.body;
  EXPECT_EQ(json(response).find("notes")->array()->size(), 1u);
  EXPECT_THAT(response.body, HasSubstr("body:1: the key 'gpu_model' is unknown and ignored; did you mean gpu?"));
  EXPECT_EQ(json(post(test_line("b"), "", "r")).find("notes"), nullptr);
}

// A page of the broker has fewer jobs than the run.
TEST_F(RestSubmit, a_repeated_request_is_found_in_a_long_run) {
  service_.page_rows = 2;
  post(test_line("a") + test_line("b") + test_line("c"), "", "r");
  EXPECT_EQ(post(test_line("d") + test_line("e"), "key", "r").status, 201);
  const Response again = post(test_line("d") + test_line("e"), "key", "r");
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(is_replay(again));
  EXPECT_EQ(post(test_line("d"), "key", "r").status, 422);
}

TEST_F(RestSubmit, mistakes_submit_nothing) {
  const Response response = post(test_line("a") + "{}\n[]\n");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.type, "application/problem+json");
  EXPECT_THAT(*json(response).find("detail")->text(), HasSubstr("body:2: "));
  EXPECT_GE(json(response).find("errors")->array()->size(), 2u);
  EXPECT_TRUE(service_.rows.empty());
}

TEST_F(RestSubmit, jobs_without_room_are_429_and_refused_ones_422) {
  service_.answer = JobAck{.acceptance = Acceptance::busy, .reason = "the queue is full", .retry_after_ms = 2'500};
  const Response busy = post(test_line("a"));
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.back(), (std::pair<std::string, std::string>("Retry-After", "3")));
  EXPECT_THAT(busy.body, HasSubstr("the queue is full"));
  service_.answer = JobAck{.acceptance = Acceptance::refused, .reason = "too many trials"};
  EXPECT_EQ(post(test_line("a")).status, 422);
}

TEST_F(RestSubmit, a_broker_that_is_away_is_503) {
  service_.failure_of_all = Error{ErrorKind::our_fault, "broker is away"};
  EXPECT_EQ(post(test_line("a")).status, 503);
}

}  // namespace
}  // namespace kq::gateway
