#include "tools/top/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <sstream>

#include "tools/ctl/scripted_world.h"
#include "tools/top/screen.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

// A screen that presses keys when it is waited for, once the broker has been looked at.
class FakeScreen final : public Screen {
 public:
  FakeScreen(std::deque<Press>& presses, std::string& drawn) : presses_(presses), drawn_(drawn) {}
  ~FakeScreen() override { drawn_ += "closed"; }
  ScreenSize size() override { return {.width = 100, .height = 30}; }
  void draw(const std::vector<Line>& lines) override {
    drawn_.clear();
    for (const Line& line : lines) drawn_ += text_of(line, false);
  }
  Press wait(std::int64_t) override {
    if (presses_.empty() || drawn_.find("Workers") == std::string::npos) return {};
    Press press = presses_.front();
    presses_.pop_front();
    return press;
  }

 private:
  std::deque<Press>& presses_;
  std::string& drawn_;
};

class TopTest : public testing::Test {
 protected:
  TopTest() {
    kq_.on<BrokerQuery>([](const BrokerQuery&) {
      return BrokerReply{.version = "7", .queued = 3, .workers = {{.worker = "gpu-1", .devices = {{}}}}};
    });
    kq_.on<QueueQuery>([](const QueueQuery&) { return QueueReply{}; });
    kq_.on<RunsQuery>([](const RunsQuery&) { return RunsReply{}; });
    kq_.on<StatsQuery>([](const StatsQuery&) { return StatsReply{}; });
  }
  int run(std::vector<const char*> words) {
    words.insert(words.begin(), "kq-top");
    testing::internal::CaptureStderr();
    const int code = run_top(static_cast<int>(words.size()), words.data(), world_);
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  ScriptedWorld kq_;
  std::ostringstream out_;
  std::string err_;
  std::deque<Press> presses_;
  std::string drawn_;
  std::deque<std::optional<int>> signals_;
  std::vector<std::int64_t> sleeps_;
  TopWorld world_{.out = out_,
                  .connect = [this](const std::string&,
                                    const std::string&) { return Expected<producer::Client>(kq_.broker.client()); },
                  .unix_now_ms = [this] { return kq_.unix_now_ms; },
                  .take_signal = [this](std::int64_t ms) -> std::optional<int> {
                    if (ms > 0) sleeps_.push_back(ms);
                    if (signals_.empty()) return std::nullopt;
                    const auto signal = signals_.front();
                    signals_.pop_front();
                    return signal;
                  },
                  .open_screen = [this]() -> Expected<std::unique_ptr<Screen>> {
                    return std::make_unique<FakeScreen>(presses_, drawn_);
                  }};
};

TEST_F(TopTest, text_is_printed_once_where_there_is_no_terminal) {
  EXPECT_EQ(run({}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("kq top  ipc:///tmp/kq.sock  kq 7  2026-11-21T18:00:00Z\nJobs      3 queued"));
  EXPECT_THAT(out_.str(), HasSubstr("gpu-1"));
  EXPECT_TRUE(sleeps_.empty());
}

TEST_F(TopTest, text_and_json_are_printed_as_often_as_asked) {
  EXPECT_EQ(run({"--json", "--count", "3", "--interval", "0.5"}), 0);
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 3);
  EXPECT_THAT(out_.str(), HasSubstr(R"("queued": 3)"));
  EXPECT_EQ(sleeps_, (std::vector<std::int64_t>{500, 500}));
}

TEST_F(TopTest, an_interval_out_of_bounds_is_bad_input) {
  EXPECT_EQ(run({"--interval", "0.1"}), 2);
  EXPECT_EQ(err_, "kq-top: --interval must be from 0.5 to 3600 seconds, got 0.1\n");
  EXPECT_EQ(run({"--count", "0"}), 2);
}

TEST_F(TopTest, a_broker_that_does_not_answer_is_an_error_without_a_terminal) {
  kq_.broker.reachable = false;
  EXPECT_EQ(run({}), 3);
  EXPECT_THAT(err_, HasSubstr("kq-top: broker ipc:///tmp/kq.sock did not answer"));
}

TEST_F(TopTest, a_signal_ends_text_and_screen_with_its_code) {
  signals_ = {SIGTERM};
  EXPECT_EQ(run({"--count", "2"}), 143);
  world_.is_terminal = true;
  signals_ = {SIGHUP};
  EXPECT_EQ(run({}), 129);
  EXPECT_TRUE(drawn_.ends_with("closed"));
}

TEST_F(TopTest, the_screen_shows_the_broker_until_q) {
  world_.is_terminal = true;
  presses_ = {{.key = Key::character, .character = "s"}, {.key = Key::character, .character = "q"}};
  EXPECT_EQ(run({}), 0);
  EXPECT_THAT(drawn_, HasSubstr("gpu-1"));
  EXPECT_THAT(drawn_, HasSubstr("s sort: name"));
  EXPECT_TRUE(drawn_.ends_with("closed"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(TopTest, the_screen_ends_after_the_last_look) {
  world_.is_terminal = true;
  EXPECT_EQ(run({"--count", "1"}), 0);
  EXPECT_THAT(drawn_, HasSubstr("gpu-1"));
}

TEST_F(TopTest, a_broker_that_refuses_from_the_start_ends_the_screen) {
  world_.is_terminal = true;
  kq_.on<StatsQuery>([](const StatsQuery&) { return Refused{"the key is unknown"}; });
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(err_, HasSubstr("refused the request: the key is unknown"));
  EXPECT_TRUE(drawn_.ends_with("closed"));
}

TEST_F(TopTest, plain_and_json_need_no_screen) {
  world_.is_terminal = true;
  EXPECT_EQ(run({"--plain"}), 0);
  EXPECT_EQ(run({"--json"}), 0);
  EXPECT_EQ(drawn_, "");
}

TEST_F(TopTest, a_screen_that_cannot_be_opened_is_an_error) {
  world_.is_terminal = true;
  world_.open_screen = []() -> Expected<std::unique_ptr<Screen>> { return bad_input("there is no description"); };
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(err_, "kq-top: there is no description\n");
}

}  // namespace
}  // namespace kq::tools
