#include "producer/submit/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/client/scripted_link.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Spool : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("problem.py", kTestProblem);
    SubmitRequest request;
    request.inputs = {folder_.write("add.py", kTestKernel)};
    request.options.problem = folder_ / "problem.py";
    request.repeat = 300;
    source_ = inspect(request).source;
    broker_.on_request = [this](const Message<ClientRequest>& got) {
      const SubmitBatch* batch = std::get_if<SubmitBatch>(&got.body);
      if (batch == nullptr) return broker_.reply(got.request_id, BrokerReply{});
      SubmitAck ack;
      for (const Submission& job : batch->jobs) {
        labels_.push_back(job.label);
        ack.jobs.push_back({.acceptance = Acceptance::accepted, .seq = labels_.size(), .reason = {}});
      }
      broker_.reply(got.request_id, ack);
    };
  }
  TestFolder folder_;
  JobSource source_;
  ScriptedBroker broker_;
  std::vector<std::string> labels_;
};

TEST_F(Spool, batches_are_sent_in_order_and_then_removed) {
  EXPECT_EQ(*write_spool(folder_ / "spool", source_, 2'000), 300u);
  EXPECT_EQ(spooled(folder_ / "spool")->size(), 2u);
  EXPECT_EQ(*write_spool(folder_ / "spool", source_, 1'000), 300u);  // the clock was set back
  Client client = broker_.client();
  std::vector<std::string> runs;
  const SpoolEnd end = send_spool(client, folder_ / "spool", {}, [&](const SubmitBatch& batch, const BatchEnd& sent) {
    EXPECT_EQ(batch.jobs.size(), sent.acks.size());
    runs.push_back(batch.run);
  });
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(runs, std::vector<std::string>(4, "add"));
  EXPECT_EQ(end.accepted_count, 600u);
  EXPECT_EQ(labels_[0], "add");
  EXPECT_EQ(labels_[299], "add#300");
  EXPECT_THAT(*spooled(folder_ / "spool"), IsEmpty());
}

TEST_F(Spool, a_batch_without_a_reply_stays) {
  ASSERT_TRUE(write_spool(folder_ / "spool", source_, 1'000));
  broker_.reachable = false;
  Client client = broker_.client();
  const SpoolEnd end = send_spool(client, folder_ / "spool", {}, [](const SubmitBatch&, const BatchEnd&) {});
  ASSERT_TRUE(end.stopped);
  EXPECT_EQ(spooled(folder_ / "spool")->size(), 2u);
}

TEST_F(Spool, a_file_that_is_no_batch_stays_and_is_reported) {
  folder_.write("spool/1.kqbatch", "junk");
  Client client = broker_.client();
  const SpoolEnd end = send_spool(client, folder_ / "spool", {}, [](const SubmitBatch&, const BatchEnd&) {});
  ASSERT_TRUE(end.stopped);
  EXPECT_THAT(end.stopped->message, HasSubstr("1.kqbatch is no batch of kq-submit --spool"));
}

TEST_F(Spool, a_folder_that_does_not_exist_is_empty) {
  EXPECT_THAT(*spooled(folder_ / "none"), IsEmpty());
  EXPECT_FALSE(write_spool(folder_.write("file", "x"), source_, 1));
}

}  // namespace
}  // namespace kq::producer
