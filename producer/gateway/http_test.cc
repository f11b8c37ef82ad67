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

Route route_of(std::vector<QueryParameter> parameters) {
  return {.method = "GET", .path = "/runs", .handler = nullptr, .parameters = std::move(parameters)};
}

TEST(GatewayHttp, an_unknown_parameter_is_named_with_the_known_ones) {
  const Route route = route_of({{"limit"}, {"columns"}});
  EXPECT_EQ(query_error(route, {{"limit", "3"}}), std::nullopt);
  EXPECT_EQ(query_error(route, {{"colums", "label"}}),
            "there is no parameter \"colums\" of GET /runs; did you mean columns? known are: limit, columns");
  EXPECT_EQ(query_error(route, {{"zzz", ""}}), "there is no parameter \"zzz\" of GET /runs; known are: limit, columns");
  EXPECT_EQ(query_error(route_of({}), {{"limit", "3"}}),
            "there is no parameter \"limit\" of GET /runs; the path takes no parameters");
}

TEST(GatewayHttp, a_parameter_has_one_value_that_is_not_empty) {
  const Route route =
      route_of({{"run"}, {.name = "where", .may_repeat = true}, {.name = "after", .may_be_empty = true}});
  EXPECT_EQ(query_error(route, {{"run", "a"}, {"after", ""}, {"where", "a=1"}, {"where", "b=1"}}), std::nullopt);
  EXPECT_EQ(query_error(route, {{"run", ""}}), "the parameter run is empty; leave it out, or give it a value");
  EXPECT_EQ(query_error(route, {{"run", "a"}, {"run", "b"}}),
            "the query has the parameter \"run\" twice; one value is needed");
}

TEST(GatewayHttp, a_route_of_a_foreign_server_passes_over_unknown_parameters) {
  Route route = route_of({});
  route.takes_any_parameter = true;
  EXPECT_EQ(query_error(route, {{"verbose", ""}}), std::nullopt);
  EXPECT_NE(query_error(route, {{"wait", "1"}, {"wait", "2"}}), std::nullopt);
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
