#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

Request request(const std::string& problem) {
  Request made = test_request("GET", "/api/v1/boards/x");
  made.path_values["problem"] = problem;
  return made;
}

TEST(RestBoards, a_board_is_found_by_name_or_hash) {
  FakeService service;
  service.board.resize(2);
  service.board[0].problem = "relu";
  service.board[0].label = "fast";
  service.board[0].median_ns = service.board[0].noise_ns = 1;
  service.board[0].reference_ns = service.board[0].reference_noise_ns = 1;
  service.board[1].problem = "gelu";
  service.board[1].problem_hash = sha256("b");
  EXPECT_THAT(get_board(request("relu"), service).body, HasSubstr("\"label\": \"fast\""));
  EXPECT_THAT(get_board(request("relu"), service).body, HasSubstr("\"speedup_noise\": 1.41421"));
  EXPECT_THAT(get_board(request(to_hex(sha256("b"))), service).body, HasSubstr("\"problem\": \"gelu\""));
  EXPECT_EQ(get_board(request("tanh"), service).status, 404);
}

TEST(RestBoards, the_broker_is_described) {
  FakeService service;
  const Response response = get_broker(request(""), service);
  EXPECT_THAT(response.body, HasSubstr("\"queued\": 2, \"leased\": 1"));
  EXPECT_THAT(response.body, HasSubstr("\"devices\": [{\"kind\": \"cpu\""));
  service.failure_of_all = Error{ErrorKind::our_fault, "away"};
  EXPECT_EQ(get_broker(request(""), service).status, 503);
}

}  // namespace
}  // namespace kq::gateway
