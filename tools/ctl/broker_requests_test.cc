#include "tools/ctl/broker_requests.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

TEST(broker_requests, job_numbers_are_positive_integers) {
  EXPECT_EQ(parse_seqs({"1", "18446744073709551615"}).value(), (std::vector<Sequence>{1, ~Sequence{0}}));
  for (const char* wrong : {"0", "-1", "1x", "", " 1", "18446744073709551616"}) {
    const auto seqs = parse_seqs({"1", wrong});
    ASSERT_FALSE(seqs) << wrong;
    EXPECT_EQ(seqs.error().kind, ErrorKind::bad_input);
  }
}

TEST(broker_requests, a_refusal_is_bad_input_and_an_unexpected_reply_is_our_fault) {
  ScriptedWorld kq;
  producer::Client client = kq.broker.client();
  kq.on<BrokerQuery>([](const auto&) { return Refused{"no"}; });
  EXPECT_EQ(ask<BrokerReply>(client, BrokerQuery{}).error(), (Error{ErrorKind::bad_input, "no"}));
  kq.on<BrokerQuery>([](const auto&) { return Done{}; });
  EXPECT_EQ(ask<BrokerReply>(client, BrokerQuery{}).error().kind, ErrorKind::our_fault);
  kq.broker.reachable = false;
  EXPECT_EQ(ask<BrokerReply>(client, BrokerQuery{}).error().kind, ErrorKind::our_fault);
}

}  // namespace
}  // namespace kq::tools
