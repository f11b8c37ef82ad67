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

// The name of a board is that of the kernel in the first place, and the next one may have been sent under another name.
TEST(RestBoards, a_board_is_found_by_the_names_of_the_submitters_jobs) {
  FakeService service;
  service.page_rows = 1;
  service.board.resize(2);
  service.board[0].problem = "other_name";
  service.board[0].problem_hash = sha256("tanh");
  service.board[0].device_model = "CPU";
  service.board[1] = service.board[0];
  service.board[1].problem = "third_name";
  service.board[1].device_model = "H200";
  for (const std::string label : {"a", "b", "c"}) {
    RunRow& row = service.rows[{"r", label}];
    row.run = "r";
    row.entry.submission.label = label;
    row.entry.submission.problem.name = label == "a" ? "relu" : "mine_tanh";
    row.entry.submission.problem.hash = sha256(label == "a" ? "relu" : "tanh");
  }
  const Response response = get_board(request("mine_tanh"), service);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.body, HasSubstr("{\"problem\": \"mine_tanh\", \"rows\": [{\"problem\": \"other_name\""));
  EXPECT_THAT(get_board(request("other_name"), service).body, HasSubstr("third_name"));
  EXPECT_THAT(get_board(request("relu"), service).body, HasSubstr("no job of the problem 'relu' is on a board yet"));
  EXPECT_EQ(get_board(request("relu"), service).status, 404);
  EXPECT_THAT(get_board(request("gelu"), service).body, HasSubstr("GET /api/v1/boards lists the boards"));
}

TEST(RestBoards, a_row_leads_to_its_job) {
  FakeService service;
  RunRow& winner = service.rows[{"r", "fast"}];
  winner.job.seq = 1;
  winner.job.state = JobState::finished;
  service.board.resize(1);
  service.board[0].problem = "relu";
  service.board[0].seq = 1;
  service.board[0].submitter = "ada";
  service.board[0].median_ns = 1'500;
  const std::string id = JobId{.seq = 1, .run = "r", .label = "fast"}.text();
  EXPECT_THAT(get_board(request("relu"), service).body,
              HasSubstr("\"rank\": 1, \"job_id\": 1, \"submitter\": \"ada\", \"run\": \"r\", \"id\": \"" + id +
                        "\", \"median_us\": 1.5"));
  service.rows.clear();
  EXPECT_THAT(get_board(request("relu"), service).body, HasSubstr("\"run\": null, \"id\": null"));
}

TEST(RestBoards, the_boards_are_listed_by_pages) {
  FakeService service;
  service.board.resize(3);
  service.board[0].problem = "relu";
  service.board[2].problem = "gelu";
  Request list = test_request("GET", "/api/v1/boards");
  list.query.emplace("limit", "2");
  const Response first = get_boards(list, service);
  EXPECT_THAT(first.body, HasSubstr("\"boards\": [{\"problem\": \"relu\""));
  EXPECT_THAT(first.body, HasSubstr("\"next\": \"02\"}"));
  list.query.emplace("after", "02");
  const Response last = get_boards(list, service);
  EXPECT_THAT(last.body, HasSubstr("\"boards\": [{\"problem\": \"gelu\""));
  EXPECT_THAT(last.body, HasSubstr("\"next\": null}"));
  list.query.erase("after");
  list.query.emplace("after", "0");
  EXPECT_EQ(get_boards(list, service).status, 400);
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
