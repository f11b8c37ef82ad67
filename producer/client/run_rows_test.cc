#include "producer/client/run_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "producer/client/scripted_link.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;

// Makes the broker answer with the rows of these labels, which are in order.
void serve(ScriptedBroker& broker, const std::vector<std::string>& labels) {
  broker.on_request = [&broker, labels](const Message<ClientRequest>& request) {
    const RunQuery& query = std::get<RunQuery>(request.body);
    RunReply reply;
    for (const std::string& label : labels) {
      if (label <= query.after_label) continue;
      reply.more = reply.rows.size() == query.limit;
      if (reply.more) break;
      reply.rows.emplace_back().entry.submission.label = label;
    }
    broker.reply(request.request_id, reply);
  };
}

std::vector<std::string> read(ScriptedBroker& broker, const std::vector<std::string>& labels) {
  Client client = broker.client();
  std::vector<std::string> found;
  EXPECT_TRUE(
      each_row_of(client, "r", labels, [&](const RunRow& row) { found.push_back(row.entry.submission.label); }));
  return found;
}

TEST(run_rows, only_wanted_rows_are_visited) {
  ScriptedBroker broker;
  serve(broker, {"a", "b", "c", "d", "e"});
  EXPECT_THAT(read(broker, {"d", "b", "b", "missing"}), ElementsAre("b", "d"));
  EXPECT_THAT(read(broker, {"e"}), ElementsAre("e"));
  EXPECT_THAT(read(broker, {"x"}), ElementsAre());
  EXPECT_THAT(read(broker, {}), ElementsAre());
}

TEST(run_rows, one_row_of_many_takes_one_question) {
  ScriptedBroker broker;
  std::vector<std::string> labels;
  for (int i = 1'000; i < 2'000; ++i) labels.push_back(std::to_string(i));
  serve(broker, labels);
  EXPECT_THAT(read(broker, {"1777"}), ElementsAre("1777"));
  EXPECT_EQ(broker.requests.size(), 1u);
}

TEST(run_rows, neighbours_are_asked_for_together) {
  ScriptedBroker broker;
  std::vector<std::string> labels;
  for (int i = 1'000; i < 1'200; ++i) labels.push_back(std::to_string(i));
  serve(broker, labels);
  EXPECT_EQ(read(broker, labels), labels);
  EXPECT_EQ(broker.requests.size(), 1u);
}

TEST(run_rows, a_limit_of_queries_ends_the_read) {
  ScriptedBroker broker;
  std::vector<std::string> labels;
  for (int i = 1'000; i < 2'000; ++i) labels.push_back(std::to_string(i));
  serve(broker, labels);
  Client client = broker.client();
  std::size_t visited_count = 0, queries_left = 2;
  const auto read = each_row_of(
      client, "r", labels, [&](const RunRow&) { ++visited_count; }, queries_left);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::gave_up);
  EXPECT_EQ(visited_count, 2 * kQueryRowsMax);
  EXPECT_EQ(queries_left, 0u);
}

}  // namespace
}  // namespace kq::producer
