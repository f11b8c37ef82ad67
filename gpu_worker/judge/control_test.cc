#include "gpu_worker/judge/control.h"

#include <array>

#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "gpu_worker/judge/device/cpu_device.h"

namespace kq::judge {
namespace {

Plan plan(std::uint64_t id, bool fresh_reference, bool fresh_calibrator = false) {
  Plan plan;
  plan.id = id;
  plan.fresh_calibrator = fresh_calibrator;
  plan.fresh_reference = fresh_reference;
  return plan;
}

class ControlTest : public testing::Test {
 protected:
  ControlTest()
      : device_(std::move(*open_cpu_device())),
        ends_(std::move(*sys::packet_pair())),
        control_(ends_.second.get(), *device_) {}

  void send(const JudgeRequest& request, std::size_t channel_count) {
    const std::array<int, 3> fds{ends_.first.get(), ends_.first.get(), ends_.first.get()};
    ASSERT_TRUE(sys::send_packet(ends_.first.get(), encode_message(Message<JudgeRequest>{0, request}),
                                 std::span(fds).first(channel_count)));
  }

  std::unique_ptr<Device> device_;
  std::pair<sys::Fd, sys::Fd> ends_;
  Control control_;
};

TEST_F(ControlTest, a_plan_brings_its_channels) {
  send(plan(7, true), 2);
  send(plan(8, false), 1);
  send(plan(9, true, true), 3);
  const auto fresh = control_.next_plan();
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->plan.id, 7u);
  EXPECT_FALSE(fresh->channels.calibrator);
  EXPECT_TRUE(fresh->channels.reference);
  EXPECT_TRUE(fresh->channels.submission);
  const auto reused = control_.next_plan();
  ASSERT_TRUE(reused);
  EXPECT_FALSE(reused->channels.reference);
  EXPECT_TRUE(reused->channels.submission);
  const auto first = control_.next_plan();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->channels.calibrator);
  EXPECT_TRUE(first->channels.reference);
}

TEST_F(ControlTest, a_shared_page_sets_the_devices_concurrent_warm_ups) {
  const auto page = channel::WarmUpPage::make();
  ASSERT_TRUE(page);
  ASSERT_TRUE(sys::send_packet(ends_.first.get(), encode_message(Message<JudgeRequest>{0, WarmUpPageShared{}}),
                               std::array{page->fd()}));
  send(plan(7, false), 1);
  ASSERT_TRUE(control_.next_plan());
  EXPECT_NE(device_->concurrent_warm_ups(), nullptr);
}

TEST_F(ControlTest, concurrent_warm_ups_without_their_page_are_an_error) {
  send(WarmUpPageShared{}, 0);
  EXPECT_FALSE(control_.next_plan());
}

TEST_F(ControlTest, a_plan_without_its_channels_is_an_error) {
  send(plan(7, true), 1);
  EXPECT_FALSE(control_.next_plan());
}

TEST_F(ControlTest, exits_are_reported_by_role) {
  send(ChildExited{ChildRole::submission, 9}, 0);
  EXPECT_EQ(*control_.exit_of(ChildRole::reference, 0), std::nullopt);
  EXPECT_EQ(*control_.exit_of(ChildRole::submission, 0), 9);
  EXPECT_EQ(*control_.exit_of(ChildRole::submission, 0), 9);
}

TEST_F(ControlTest, the_exit_of_a_submission_is_forgotten_with_the_next_plan) {
  send(ChildExited{ChildRole::submission, 9}, 0);
  send(ChildExited{ChildRole::reference, 11}, 0);
  send(plan(1, false), 1);
  ASSERT_TRUE(control_.next_plan());
  EXPECT_EQ(*control_.exit_of(ChildRole::submission, 0), std::nullopt);
  EXPECT_EQ(*control_.exit_of(ChildRole::reference, 0), 11);
  send(plan(2, true), 2);
  ASSERT_TRUE(control_.next_plan());
  EXPECT_EQ(*control_.exit_of(ChildRole::reference, 0), std::nullopt);
}

TEST_F(ControlTest, a_closed_socket_a_second_plan_and_nonsense_are_errors) {
  send(plan(1, false), 1);
  EXPECT_FALSE(control_.exit_of(ChildRole::submission, 0));
  ASSERT_TRUE(sys::send_packet(ends_.first.get(), "hello"));
  EXPECT_EQ(control_.next_plan().error().kind, ErrorKind::our_fault);
  ends_.first = sys::Fd();
  EXPECT_EQ(control_.next_plan().error().kind, ErrorKind::not_found);
  EXPECT_FALSE(control_.exit_of(ChildRole::submission, 0));
}

TEST_F(ControlTest, sends_replies) {
  ASSERT_TRUE(
      control_.send_reply(Report{.id = 3, .verdict = {}, .samples = {}, .error = "no", .reference_usable = false}));
  const auto packet = sys::receive_packet(ends_.first.get(), 1000);
  ASSERT_TRUE(packet && *packet);
  const auto message = decode_message<JudgeReply>((*packet)->bytes);
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<Report>(message->body).error, "no");
}

}  // namespace
}  // namespace kq::judge
