#include "producer/gateway/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;

TEST(GatewayHttp, a_problem_names_status_path_and_request) {
  Request request;
  request.path = "/api/v1/jobs/x";
  request.id = "a-1";
  const Response response = problem(404, "there is no job x", request, {{"more", producer::Json{true}}});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.type, "application/problem+json");
  const auto body = producer::parse_json(response.body);
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(*body->find("title")->text(), "Not Found");
  EXPECT_EQ(*body->find("status")->integer(), 404);
  EXPECT_EQ(*body->find("instance")->text(), "/api/v1/jobs/x");
  EXPECT_EQ(*body->find("request_id")->text(), "a-1");
  EXPECT_TRUE(*body->find("more")->boolean());
}

TEST(GatewayHttp, each_kind_of_error_has_a_status) {
  EXPECT_EQ(status_of(ErrorKind::bad_input), 400);
  EXPECT_EQ(status_of(ErrorKind::not_found), 404);
  EXPECT_EQ(status_of(ErrorKind::our_fault), 503);
  EXPECT_EQ(status_of(ErrorKind::interrupted), 503);
  EXPECT_EQ(status_of(ErrorKind::gave_up), 504);
}

TEST(GatewayHttp, an_answer_503_says_when_to_ask_again) {
  const Response response = problem_of({ErrorKind::our_fault, "the broker is away"}, {});
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].first, "Retry-After");
  EXPECT_THAT(response.body, HasSubstr("the broker is away"));
}

}  // namespace
}  // namespace kq::gateway
