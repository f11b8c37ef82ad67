#include "producer/client/progress.h"

#include <gtest/gtest.h>

namespace kq::producer {
namespace {

Tally tally(std::size_t queued, std::size_t running, std::map<std::string, std::size_t> by_verdict) {
  Tally tally;
  tally.queued = queued;
  tally.running = running;
  for (const auto& [verdict, count] : by_verdict) tally.finished += count;
  tally.total = queued + running + tally.finished;
  tally.by_verdict = std::move(by_verdict);
  return tally;
}

struct Screen {
  std::string text;
  StatusLineOptions options(bool in_place, std::size_t columns = 80) {
    return {.write = [this](std::string_view more) { text += more; }, .in_place = in_place, .columns = columns};
  }
};

TEST(Progress, one_line_has_all_counts) {
  const Tally running = tally(680, 8, {{"passed", 240}, {"wrong_answer", 70}, {"timed_out", 1}, {"abandoned", 1}});
  EXPECT_EQ(progress_text(running, 76'000), "[ 312/1000]  31% run 8 q 680 pass 240 fail 71 infra 1 4.1/s eta 02:48");
}

TEST(Progress, no_rate_before_the_first_result_and_no_eta_after_the_last) {
  EXPECT_EQ(progress_text(tally(3, 0, {}), 5'000), "[0/3]   0% run 0 q 3 pass 0 fail 0 infra 0");
  EXPECT_EQ(progress_text(tally(0, 0, {{"passed", 3}}), 6'000), "[3/3] 100% run 0 q 0 pass 3 fail 0 infra 0 2.0 s/job");
  EXPECT_TRUE(progress_text(tally(0, 0, {{"passed", 200}}), 1'000, 200).ends_with(" infra 0"))
      << "every job was finished before the wait began";
  EXPECT_TRUE(progress_text(tally(10, 0, {{"passed", 190}}), 5'000, 180).ends_with(" 2.0/s eta 00:05"));
  EXPECT_EQ(progress_text(Tally{}, 0), "[0/0] 100% run 0 q 0 pass 0 fail 0 infra 0");
}

TEST(Progress, a_long_eta_has_hours) {
  EXPECT_TRUE(progress_text(tally(3'723, 0, {{"passed", 1}}), 1'000).ends_with(" 1.0/s eta 1:02:03"));
}

TEST(Progress, a_long_build_is_told_with_its_time) {
  Tally waiting = tally(1, 1, {});
  EXPECT_EQ(build_text(waiting, 100'000), "");
  waiting.building = 2;
  waiting.build_started_ms = 65'000;
  EXPECT_EQ(build_text(waiting, 65'000 + kLongBuildMs - 1), "");
  EXPECT_EQ(build_text(waiting, 100'000), "building 2 for 00:35");
  Screen screen;
  StatusLineOptions options = screen.options(true);
  options.unix_ms = [] { return 100'000; };
  StatusLine(options, 0).update(waiting, 100);
  EXPECT_EQ(screen.text, "\r[0/2]   0% run 1 q 1 pass 0 fail 0 infra 0, building 2 for 00:35\x1b[K\n");
}

TEST(Progress, says_what_no_worker_has) {
  Tally waiting = tally(4, 0, {});
  EXPECT_EQ(unserved_text(waiting), "");
  waiting.unserved = {{"a cuda device", 3}};
  EXPECT_EQ(unserved_text(waiting), "3 jobs wait: no worker has a cuda device");
  waiting.unserved = {{"a NVIDIA H200", 1}, {"any device", 2}};
  EXPECT_EQ(unserved_text(waiting), "1 job waits: no worker has a NVIDIA H200; 2 jobs wait: no worker is connected");
  Requirements needs{.labels = {"big", "lab"}};
  waiting.unserved = {{std::string(kPausedText), 2}};
  EXPECT_EQ(unserved_text(waiting), "2 jobs wait: the queue, or the submitter, is paused; kq ctl status says which");
  waiting.unserved = {{std::string(kDrainingText), 1}};
  EXPECT_EQ(unserved_text(waiting), "1 job waits: every worker that can run it is draining");
  waiting.unserved = {{needs_text(needs), 1}};
  EXPECT_EQ(unserved_text(waiting), "1 job waits: there is no worker labelled big, lab with any device");
  needs.gpu_model = "NVIDIA H200";
  waiting.unserved = {{needs_text(needs), 1}};
  EXPECT_EQ(unserved_text(waiting), "1 job waits: there is no worker labelled big, lab with a NVIDIA H200");
}

TEST(Progress, summary_names_verdicts_in_the_tables_order) {
  EXPECT_EQ(summary_text(tally(2, 1, {{"timed_out", 28}, {"passed", 900}, {"wrong_answer", 69}})),
            "1000 jobs: 900 passed, 69 wrong_answer, 28 timed_out, 1 running, 2 queued");
  EXPECT_EQ(summary_text(tally(0, 0, {{"passed", 1}, {"of_tomorrow", 1}})), "2 jobs: 1 passed, 1 of_tomorrow");
}

TEST(StatusLine, on_a_terminal_one_line_is_rewritten) {
  Screen screen;
  {
    StatusLine line(screen.options(true, 19), 0);
    line.update(tally(2, 0, {}), 100);
    line.update(tally(1, 0, {{"passed", 1}}), 200);
  }
  EXPECT_EQ(screen.text, "\r[0/2]   0% run 0 q\x1b[K\r[1/2]  50% run 0 q\x1b[K\n");
}

TEST(StatusLine, elsewhere_a_line_each_five_percent_or_ten_seconds) {
  Screen screen;
  StatusLine line(screen.options(false), 0);
  const auto lines = [&] { return std::count(screen.text.begin(), screen.text.end(), '\n'); };
  line.update(tally(100, 0, {}), 100);
  line.update(tally(96, 0, {{"passed", 4}}), 200);
  EXPECT_EQ(lines(), 0);
  line.update(tally(95, 0, {{"passed", 5}}), 300);
  EXPECT_EQ(lines(), 1);
  line.update(tally(94, 0, {{"passed", 6}}), 10'200);
  EXPECT_EQ(lines(), 1);
  line.update(tally(94, 0, {{"passed", 6}}), 10'300);
  EXPECT_EQ(lines(), 2);
  line.update(tally(0, 0, {{"passed", 100}}), 10'400);
  line.update(tally(0, 0, {{"passed", 100}}), 10'500);
  EXPECT_EQ(lines(), 3);
  EXPECT_EQ(screen.text.find('\r'), std::string::npos);
}

TEST(StatusLine, reports_missing_requirements_once_after_a_delay) {
  Screen screen;
  StatusLine line(screen.options(false), 0);
  Tally waiting = tally(3, 0, {});
  waiting.unserved = {{"a cuda device", 3}};
  line.update(waiting, 100);
  EXPECT_EQ(screen.text, "");  // a worker may be starting
  line.update(waiting, 2'000);
  EXPECT_EQ(screen.text, "3 jobs wait: no worker has a cuda device\n");
  waiting.unserved = {{"a cuda device", 2}};
  line.update(waiting, 4'000);
  EXPECT_EQ(screen.text, "3 jobs wait: no worker has a cuda device\n");
  line.update(tally(3, 0, {}), 5'000);  // a worker connects
  line.update(waiting, 6'000);          // the worker disconnects
  line.update(waiting, 7'500);
  EXPECT_EQ(screen.text, "3 jobs wait: no worker has a cuda device\n2 jobs wait: no worker has a cuda device\n");
}

TEST(StatusLine, a_sentence_replaces_the_line_on_a_terminal) {
  Screen screen;
  StatusLine line(screen.options(true, 8), 0);
  Tally waiting = tally(1, 0, {});
  waiting.unserved = {{"any device", 1}};
  line.update(waiting, 0);
  screen.text.clear();
  line.update(waiting, 3'000);
  EXPECT_EQ(screen.text, "\r\x1b[K1 job waits: no worker is connected\n\r[0/1]  \x1b[K");
}

}  // namespace
}  // namespace kq::producer
