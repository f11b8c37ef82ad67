#include "producer/gateway/evaluation/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/evaluation/answer_check.h"

using namespace kq;
using namespace kq::gateway;
using namespace kq::gateway::evaluation;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr const char* kKernel = R"({"source_code": "class Model: 1\ndef get_inputs(): 1", "kernel_type": "torch"})";

std::string single(const std::string& more = "") {
  return "{\"kernel\": " + std::string(kKernel) + more + "}";
}
Response ask(CannedService& service, const std::string& body) {
  static const Routes kRoutes = evaluation_routes({});
  return answer_to(kRoutes, service, "/batch", body);
}
std::string answered(CannedService service, const std::string& body) {
  return ask(service, body).body;
}

}  // namespace

TEST(Batch, each_request_is_answered_on_a_line_of_its_own) {
  CannedService service = passing_service();
  const std::string pair = "{\"ref_kernel\": " + std::string(kKernel) + ", \"custom_kernel\": " + kKernel + "}";
  const Response response = ask(service, "{\"requests\": [{}, " + single(", \"id\": \"b\"") + ", " + pair + "]}");
  EXPECT_EQ(response.type, "application/x-ndjson");
  EXPECT_EQ(std::ranges::count(response.body, '\n'), 3);
  EXPECT_THAT(response.body, StartsWith("{\"index\": 0, \"status_code\": 400, \"body\": {\"error\": \"Invalid"));
  EXPECT_THAT(response.body, HasSubstr("{\"index\": 1, \"id\": \"b\", \"status_code\": 200, \"body\": {\"job_id\""));
  EXPECT_THAT(response.body, HasSubstr("{\"index\": 2, \"status_code\": 200"));
  const std::string lines = answered(passing_service(), single() + "\n\n" + single() + "\n");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
}

TEST(Batch, a_body_that_is_no_batch_is_refused) {
  EXPECT_THAT(answered({}, "{\"requests\": []}"), HasSubstr("is empty"));
  EXPECT_THAT(answered({}, ""), HasSubstr("is empty"));
  EXPECT_THAT(answered({}, "{\"requests\": 1}"), HasSubstr("must be a list, got 1"));
  for (const char* body : {"{}", "[]", "null", "{\"request\": []}"})
    EXPECT_THAT(answered({}, body), HasSubstr("\"field\": \"requests\", \"message\": \"is required")) << body;
  EXPECT_THAT(answered({}, "{}\n{"), HasSubstr("\"field\": \"body -> 1\""));
  std::string many;
  for (std::size_t i = 0; i <= kBatchRequestsMax; ++i) many += "{}\n";
  EXPECT_THAT(answered({}, many), HasSubstr("has more than 1024 requests"));
}

TEST(Batch, a_request_that_takes_too_long_is_answered_like_a_single_one) {
  const std::string lines = answered({}, single(", \"timeout\": 15"));
  EXPECT_THAT(lines, HasSubstr("\"status_code\": 500"));
  EXPECT_THAT(lines, HasSubstr("Job timed out after 15 seconds"));
}

TEST(Batch, a_broker_that_is_away_is_told_on_each_line) {
  CannedService service;
  service.error = Error{ErrorKind::our_fault, "the broker does not answer"};
  EXPECT_THAT(ask(service, single()).body, HasSubstr("\"status_code\": 503"));
}

TEST(Batch, writing_ends_when_the_client_has_gone) {
  static const Routes kRoutes = evaluation_routes({});
  CannedService service = passing_service();
  Request request;
  request.body = single() + "\n" + single();
  const Response response = measure_batch(request, service, {});
  std::size_t count = 0;
  EXPECT_FALSE(response.stream([&](std::string_view) { return ++count > 1; }));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(service.jobs.size(), 2u);
}
