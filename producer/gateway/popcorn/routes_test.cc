#include "producer/gateway/popcorn/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/popcorn/problem_set.h"
#include "producer/formats/test_folder.h"
#include "producer/gateway/router.h"
#include "producer/gateway/testing.h"

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using producer::popcorn::ProblemSet;
using testing::HasSubstr;

constexpr std::string_view kForm =
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"k.py\"\r\n\r\nx = 1\n\r\n--b--\r\n";

class PopcornRoutes : public testing::Test {
 protected:
  PopcornRoutes() {
    folder_.write("add/task.yml",
                  "lang: py\nfiles:\n  - {name: submission.py, source: '@SUBMISSION@'}\n"
                  "  - {name: reference.py, source: reference.py}\ntests:\n  - {n: 1, seed: 2}\n"
                  "benchmarks:\n  - {n: 3, seed: 4}\n");
    folder_.write("add/reference.py", "X = 1\n");
    problems_ = std::move(ProblemSet::open(folder_ / "").value());
    router_ = std::make_unique<Router>(popcorn_routes(problems_.get(), false));
  }

  Response ask(const std::string& method, const std::string& path, const std::string& user = "one",
               std::multimap<std::string, std::string> query = {}) {
    Request request = test_request(method, path, std::string(kForm));
    request.headers = {{"content-type", "multipart/form-data; boundary=b"}, {"x-popcorn-cli-id", user}};
    request.query = std::move(query);
    RouteMatch match = router_->match(method, path);
    if (match.route == nullptr) return {.status = 404};
    request.path_values = match.path_values;
    return match.route->handler(request, service_);
  }
  Json json(const Response& response) { return producer::parse_json(response.body).value(); }
  std::string detail(const Response& response) { return *json(response).find("detail")->text(); }
  std::int64_t submit(const std::string& mode = "test", const std::string& user = "one") {
    const Response response = ask("POST", "/submission/add/CPU/" + mode, user);
    EXPECT_EQ(response.status, 202) << response.body;
    return response.status == 202 ? *json(response).find("details")->find("id")->integer() : 0;
  }

  producer::TestFolder folder_;
  std::unique_ptr<ProblemSet> problems_;
  std::unique_ptr<Router> router_;
  FakeService service_;
};

TEST_F(PopcornRoutes, boards_have_what_clients_read) {
  const Json boards = json(ask("GET", "/leaderboards"));
  const Json& board = boards.array()->front();
  EXPECT_EQ(*board.find("name")->text(), "add");
  EXPECT_NE(board.find("task")->object(), nullptr);
  EXPECT_EQ(board.find("secret_seed"), nullptr);
  EXPECT_EQ(ask("GET", "/gpus/ADD").body, "[\"CPU\"]\n");
  EXPECT_EQ(ask("GET", "/gpus/none").status, 404);
}

TEST_F(PopcornRoutes, a_submission_is_found_by_its_number_and_only_by_its_user) {
  const std::int64_t id = submit();
  const std::string path = "/user/submissions/" + std::to_string(id);
  const Json shown = json(ask("GET", path));
  EXPECT_EQ(*shown.find("id")->integer(), id);
  EXPECT_EQ(*shown.find("file_name")->text(), "k.py");
  EXPECT_EQ(*shown.find("job")->find("status")->text(), "pending");
  EXPECT_THAT(*shown.find("user_id")->text(), testing::MatchesRegex("cli-[0-9a-f]*"));
  EXPECT_EQ(ask("GET", path, "other").status, 404);
  EXPECT_EQ(detail(ask("GET", "/user/submissions/17")), "you have no submission 17");
  EXPECT_EQ(ask("GET", "/user/submissions/x").status, 404);
}

TEST_F(PopcornRoutes, the_list_has_the_newest_first) {
  const std::int64_t first = submit(), second = submit("benchmark"), third = submit("leaderboard");
  submit("test", "other");
  EXPECT_LT(first, second);
  const auto ids = [&](std::multimap<std::string, std::string> query) {
    std::vector<std::int64_t> found;
    const Json list = json(ask("GET", "/user/submissions", "one", std::move(query)));
    for (const Json& one : *list.array()) found.push_back(*one.find("id")->integer());
    return found;
  };
  EXPECT_EQ(ids({{"leaderboard", "ADD"}}), (std::vector<std::int64_t>{third, second, first}));
  EXPECT_EQ(ids({{"limit", "1"}, {"offset", "1"}}), std::vector<std::int64_t>{second});
  EXPECT_TRUE(ids({{"leaderboard", "none"}}).empty());
  EXPECT_EQ(ask("GET", "/user/submissions", "one", {{"limit", "101"}}).status, 400);
}

TEST_F(PopcornRoutes, a_submission_that_waits_can_be_deleted) {
  const std::string path = "/user/submissions/" + std::to_string(submit());
  EXPECT_EQ(*json(ask("DELETE", path)).find("status")->text(), "ok");
  for (auto& [names, row] : service_.rows) service_.finish(names.first, names.second, VerdictName::wrong_answer);
  EXPECT_EQ(ask("DELETE", path).status, 409);
}

TEST_F(PopcornRoutes, events_end_with_the_result_or_with_why_there_is_none) {
  const auto events = [&](VerdictName verdict) {
    Response response = ask("POST", "/add/cpu/test");
    EXPECT_EQ(response.type, "text/event-stream");
    std::string text;
    bool is_first = true;
    response.stream([&](std::string_view bytes) {
      text += bytes;
      if (std::exchange(is_first, false))
        for (auto& [names, row] : service_.rows) service_.finish(names.first, names.second, verdict);
      return true;
    });
    service_.rows.clear();
    return text;
  };
  const std::string wrong = events(VerdictName::wrong_answer);
  EXPECT_THAT(wrong, testing::StartsWith("event: status\ndata: {\"status\": \"processing\""));
  EXPECT_THAT(wrong, HasSubstr("\n\nevent: result\ndata: {\"status\": \"success\", \"results\": [{"));
  EXPECT_THAT(events(VerdictName::rejected),
              HasSubstr("event: error\ndata: {\"status\": \"error\", \"detail\": \"rejected\""));
}

TEST_F(PopcornRoutes, what_is_wrong_is_said_in_detail) {
  EXPECT_EQ(ask("POST", "/submission/none/CPU/test").status, 404);
  EXPECT_EQ(detail(ask("POST", "/submission/add/B200/test")), "no connected worker has a GPU B200; there are CPU");
  EXPECT_EQ(detail(ask("POST", "/submission/add/CPU/run")),
            "mode must be one of test, benchmark, profile, leaderboard, got run");
  EXPECT_THAT(detail(ask("POST", "/submission/add/CPU/test", "")), HasSubstr("X-Popcorn-Cli-Id"));
  EXPECT_EQ(ask("POST", "/user/join").status, 400);
  service_.answer = JobAck{.acceptance = Acceptance::busy, .reason = "the queue is full"};
  EXPECT_EQ(ask("POST", "/submission/add/CPU/test").status, 503);
}

TEST_F(PopcornRoutes, a_gateway_without_problems_says_so) {
  router_ = std::make_unique<Router>(popcorn_routes(nullptr, true));
  for (const char* path : {"/leaderboards", "/gpus/add"})
    EXPECT_THAT(detail(ask("GET", path)), HasSubstr("started without --popcorn"));
  EXPECT_EQ(ask("POST", "/add/CPU/test").status, 404);
  EXPECT_THAT(detail(ask("GET", "/auth/init")), HasSubstr("cli_id: TOKEN"));
}

TEST_F(PopcornRoutes, labels_are_in_the_order_of_age) {
  EXPECT_LT(label_of(1'764'000'000'000'001), label_of(1'764'000'000'000'000));
  EXPECT_EQ(label_of(kSubmissionIdMax), "0000000000000000");
}

}  // namespace
}  // namespace kq::gateway::popcorn
