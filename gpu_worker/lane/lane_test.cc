// A lane with its real judge, its real zygote and real children, on the CPU.
#include "gpu_worker/lane/lane.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProblem = R"(
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.rand(64)]
def get_init_inputs():
    return []
)";

std::string submission(const std::string& body, const std::string& before = "") {
  return "import ctypes, os, torch\n" + before +
         "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        " + body + "\n";
}

class LaneTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto tests = TestLane::get();
    ASSERT_TRUE(tests) << tests.error().message;
    lane_ = &(*tests)->lane();
    root_ = TestLane::root();
  }

  static Lease lease_of(const std::string& source, std::string_view problem = kProblem) {
    Lease lease;
    lease.id = {1, 1};
    lease.device = lane_->device();
    lease.submission.label = "test";
    lease.submission.files = {{"kernel.py", sha256(source)}};
    lease.submission.problem.name = "plus";
    lease.submission.problem.file = "plus.py";
    lease.submission.problem.hash = sha256(problem);
    lease.submission.trials = {.correctness = 2, .warmup = 1, .timed = 3};
    lease.blobs = {{sha256(source), source}, {sha256(problem), std::string(problem)}};
    return lease;
  }
  static Expected<Result> run(const std::string& source) {
    return lane_->run(lease_of(source), {.verdict = {}, .dir = root_ / "built"});
  }
  // "passed", or "wrong_answer value: message"
  static std::string verdict_of(const Expected<Result>& result) {
    if (!result) return "error: " + result.error().message;
    std::string text(to_string(name_of(result->verdict)));
    const Evidence* evidence = evidence_of(result->verdict);
    if (evidence != nullptr && !evidence->reason.empty()) text += " " + evidence->reason;
    return text;
  }

  static fs::path root_;
  static Lane* lane_;
};
fs::path LaneTest::root_;
Lane* LaneTest::lane_;

TEST_F(LaneTest, right_submission_passes_with_all_its_samples) {
  Lease lease = lease_of(submission("return x + 1"));
  lease.submission.trials.profile = Profiler::ncu;
  const auto result = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
  ASSERT_EQ(verdict_of(result), "passed")
      << (result && evidence_of(result->verdict) ? evidence_of(result->verdict)->message : "");
  EXPECT_EQ(result->samples.submission_ns.size(), 3u);
  EXPECT_EQ(result->samples.reference_ns.size(), 3u);
  EXPECT_GT(measurement_of(result->verdict)->submission.median_ns, 0);
  EXPECT_FALSE(result->software.torch.empty());
  EXPECT_NE(result->sandbox.find("rlimits"), std::string::npos);
  ASSERT_TRUE(result->profile);
  EXPECT_EQ(result->profile->message, "a profile needs a GPU");
}

TEST_F(LaneTest, every_bad_ending_has_its_verdict_and_the_next_job_passes) {
  const std::pair<std::string, std::string> cases[] = {
      {submission("return x + 2"), "wrong_answer value"},
      {submission("return x.double() + 1"), "wrong_answer dtype"},
      {submission("return torch.cat([x, x])"), "wrong_answer shape"},
      {submission("x += 1; return x"), "wrong_answer mutated_input"},
      {submission("raise ValueError('no')"), "runtime_error"},
      {submission("os._exit(0)"), "runtime_error"},
      {submission("ctypes.string_at(0)"), "crashed signal 11"},
      {submission("return x + 1", "raise ImportError('no')"), "load_failed"},
      {"import torch\n", "load_failed"},
      {submission("time.sleep(1000); return x + 1", "import time"), "timed_out run"},
      {submission("return torch.empty(1 << 40)"), "out_of_memory host"},
  };
  for (const auto& [source, expected] : cases) {
    const auto result = run(source);
    EXPECT_EQ(verdict_of(result), expected)
        << source << (result && evidence_of(result->verdict) ? evidence_of(result->verdict)->message : "");
    EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed") << "after " << expected;
  }
}

TEST_F(LaneTest, a_crash_names_its_line) {
  const std::string source = submission("ctypes.string_at(0)");
  const auto result = run(source);
  ASSERT_EQ(verdict_of(result), "crashed signal 11");
  const auto line =
      1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(source.find("string_at")), '\n');
  EXPECT_EQ(evidence_of(result->verdict)->place, "kernel.py:" + std::to_string(line)) << result->log;
}

TEST_F(LaneTest, output_of_a_submission_is_logged_and_has_no_influence) {
  const auto result = run(submission("print('{\"verdict\": \"passed\"}', flush=True); return x"));
  EXPECT_EQ(verdict_of(result), "wrong_answer value");
  EXPECT_NE(result->log.find("passed"), std::string::npos);
}

TEST_F(LaneTest, a_forged_clock_gains_nothing) {
  const std::string slow = "import time; time.sleep(0.002); return x + 1";
  const std::string forge =
      "import sys\n"
      "from harness.children.page import Page\n"
      "frame = sys._getframe()\n"
      "while 'runtime' not in frame.f_locals: frame = frame.f_back\n"
      "runtime = frame.f_locals['runtime']\n"
      "def complete(page, done):\n"
      "    Page.from_address(page).event_ns = 1000\n"
      "    runtime.post_done(page, done)\n"
      "    return 0\n"
      "runtime.complete = complete\n";
  const auto forged = run(submission(slow, forge));
  ASSERT_EQ(verdict_of(forged), "passed");
  EXPECT_EQ(measurement_of(forged->verdict)->event_ns, 1000);
  // 2 ms less what may be subtracted on a busy machine: 0.5 ms of overhead and a slack of 2 %.
  EXPECT_GT(measurement_of(forged->verdict)->submission.median_ns, 1.47e6);
  const auto honest = run(submission(slow));
  ASSERT_EQ(verdict_of(honest), "passed");
  EXPECT_GT(measurement_of(honest->verdict)->submission.median_ns, 1.47e6);
  EXPECT_GT(measurement_of(honest->verdict)->event_ns, 2e6);
}

TEST_F(LaneTest, the_seed_of_a_call_does_not_reveal_its_inputs) {
  EXPECT_EQ(verdict_of(run(submission("return x + 1 + float(torch.equal(torch.rand(64), x))"))), "passed");
}

TEST_F(LaneTest, a_child_does_not_see_the_workers_environment) {
  const std::string is_visible = "b'KQ_TEST_SECRET' in open('/proc/self/environ', 'rb').read()";
  EXPECT_EQ(verdict_of(run(submission("return x + 1 + float(" + is_visible + ")"))), "passed");
}

TEST_F(LaneTest, a_job_that_never_began_does_not_affect_the_next_one_on_its_problem) {
  const Lease lease = lease_of(submission("return x + 1"), std::string(kProblem) + "# another\n");
  EXPECT_FALSE(lane_->run(lease, {.verdict = {}, .dir = root_ / "missing"}));
  EXPECT_EQ(verdict_of(lane_->run(lease, {.verdict = {}, .dir = root_ / "built"})), "passed");
}

TEST_F(LaneTest, a_broken_problem_is_not_the_submissions_fault) {
  const Lease lease = lease_of(submission("return x + 1"), "class Model: pass\n");
  EXPECT_EQ(verdict_of(lane_->run(lease, {.verdict = {}, .dir = root_ / "built"})), "problem_invalid");
}

// Kills a process of this program's user and returns when it has ended, at the latest after a minute.
void kill_and_await(int process) {
  ::kill(process, SIGKILL);
  for (int i = 0; i < 6'000; ++i) {
    const std::string folder = "/proc/" + std::to_string(process);
    std::ifstream status(folder + "/stat");
    std::string text;
    std::getline(status, text);
    const std::size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos) return;
    // The state is that of the first thread. The process keeps its sockets open until its last thread has ended.
    std::error_code ended;
    const auto threads = std::distance(fs::directory_iterator(folder + "/task", ended), fs::directory_iterator());
    if (text[name_end + 2] == 'Z' && threads <= 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "process " << process << " did not end";
}

TEST_F(LaneTest, a_problem_is_looked_at_once_and_every_row_has_what_was_found) {
  const auto problem = [](const std::string& value) {
    return "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return " + value +
           "\ndef get_inputs():\n    return [torch.rand(64)]\n";
  };
  const Built built{.verdict = {}, .dir = root_ / "built"};
  const std::string small = problem("x * 1e-6");
  const auto honest = lane_->run(lease_of(submission("return x * 1e-6"), small), built);
  EXPECT_EQ(verdict_of(honest), "passed");
  ASSERT_EQ(honest->problem_warnings.size(), 1u);
  EXPECT_EQ(honest->problem_warnings.front().name, "zeros");
  const auto wrong = lane_->run(lease_of(submission("return x + 5"), small), built);
  EXPECT_EQ(verdict_of(wrong), "wrong_answer value");
  EXPECT_EQ(wrong->problem_warnings, honest->problem_warnings);

  const std::string constant = problem("torch.sigmoid(x * 0)");
  const std::string never_right = submission("return x + 5");
  const auto first = lane_->run(lease_of(never_right, constant), built);
  EXPECT_EQ(verdict_of(first), "problem_invalid constant");
  const auto second = lane_->run(lease_of(never_right, constant), built);
  EXPECT_EQ(verdict_of(second), "problem_invalid constant");
  EXPECT_GT(first->times.run_ms, 0);
  EXPECT_EQ(second->times.run_ms, 0) << "nothing runs where the certificate is kept";
  EXPECT_EQ(second->software.torch, first->software.torch);
}

TEST_F(LaneTest, a_judge_that_died_between_two_jobs_costs_none_of_them) {
  ASSERT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  kill_and_await(lane_->judge_process());
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

// Returns the descendants of a process that have this name (/proc/PID/comm), or all of them without a name.
std::vector<int> processes_under(int root, const std::string& name = "") {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(root) + "/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (int child = 0; children >> child;) {
      std::string comm;
      std::ifstream("/proc/" + std::to_string(child) + "/comm") >> comm;
      if (name.empty() || comm == name) found.push_back(child);
      for (const int one : processes_under(child, name)) found.push_back(one);
    }
  }
  return found;
}

TEST_F(LaneTest, kept_children_that_died_between_two_jobs_cost_none_of_them) {
  ASSERT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  lane_->wait_until_idle();
  const auto zygote = lane_->zygote();
  ASSERT_TRUE(zygote);
  const auto children = processes_under(TestLane::forking_process(**zygote));
  ASSERT_GE(children.size(), 2u);
  for (const int child : children) kill_and_await(child);
  ASSERT_TRUE((*zygote)->alive());
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

// Returns the body of a call that sets the name of its process and sleeps, so that the process can be found and killed.
std::string named(const std::string& name) {
  return "open('/proc/self/comm', 'w').write('" + name + "'); __import__('time').sleep(1); return x + 1";
}

// Starts a thread that kills the first `count` processes that get this name.
std::thread killer_of(int zygote, const std::string& name, std::size_t count) {
  return std::thread([=] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::set<int> killed;
    while (killed.size() < count && std::chrono::steady_clock::now() < deadline) {
      for (const int process : processes_under(zygote, name)) {
        if (killed.insert(process).second) ::kill(process, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

TEST_F(LaneTest, a_child_that_was_killed_from_outside_is_tried_again_once) {
  const auto zygote = lane_->zygote();
  ASSERT_TRUE(zygote);
  const auto run_killed = [&](const Lease& lease, const std::string& name, std::size_t count) {
    std::thread killer = killer_of(TestLane::forking_process(**zygote), name, count);
    const auto result = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
    killer.join();
    return verdict_of(result);
  };
  std::string slow(kProblem);
  slow.replace(slow.find("return x + 1"), 12, named("victim-r"));
  Lease lease = lease_of(submission("return x + 1"), slow);
  lease.submission.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  EXPECT_EQ(run_killed(lease, "victim-r", 1), "passed");
  lease = lease_of(submission(named("victim-s")));
  lease.submission.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  EXPECT_EQ(run_killed(lease, "victim-s", 1), "passed");
  lease = lease_of(submission(named("victim-t")));
  lease.submission.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  EXPECT_EQ(run_killed(lease, "victim-t", 2), "crashed signal 9");
  EXPECT_EQ(verdict_of(run(submission("os.kill(os.getpid(), 9)"))), "crashed signal 9") << "the child kills itself";
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

TEST_F(LaneTest, a_dead_zygote_is_our_fault_and_the_next_job_gets_a_new_one) {
  const auto before = lane_->zygote();
  ASSERT_TRUE(before);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::kill((*before)->process(), SIGKILL);
  });
  const auto result = run(submission("return [0 for _ in iter(int, 1)]"));
  killer.join();
  EXPECT_FALSE(result);
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

TEST_F(LaneTest, a_stopped_attempt_ends_at_once_and_leaves_judge_and_reference_for_the_next) {
  ASSERT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  const int judge = lane_->judge_process();
  for (const std::string& endless :
       {submission("return [0 for _ in iter(int, 1)]"), submission("return x", "import time\ntime.sleep(30)")}) {
    std::stop_source stop;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      stop.request_stop();
    });
    const auto start = std::chrono::steady_clock::now();
    const auto result = lane_->run(lease_of(endless), {.verdict = {}, .dir = root_ / "built"}, stop.get_token());
    const auto took = std::chrono::steady_clock::now() - start;
    stopper.join();
    EXPECT_EQ(verdict_of(result), "error: stopped");
    EXPECT_LT(took, std::chrono::seconds(15)) << "below the limit of a load";
    EXPECT_EQ(lane_->judge_process(), judge);
    EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  }
}

TEST_F(LaneTest, a_job_may_ask_for_less_time_and_leaves_judge_and_reference_for_the_next) {
  ASSERT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  const int judge = lane_->judge_process();
  Lease lease = lease_of(submission("return [0 for _ in iter(int, 1)]"));
  lease.submission.time_limit_ms = 3'000;  // below the limit of a call, which would be the verdict timed_out run
  const auto result = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
  EXPECT_EQ(verdict_of(result), "timed_out total");
  EXPECT_EQ(evidence_of(result->verdict)->message, "all trials together took longer than 3 s");
  EXPECT_EQ(evidence_of(result->verdict)->hint, "");
  lease.submission.backend = Backend::triton;
  const auto interpreted = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
  EXPECT_EQ(verdict_of(interpreted), "timed_out total");
  EXPECT_THAT(evidence_of(interpreted->verdict)->hint,
              testing::HasSubstr("without a GPU Triton interprets the kernel"));
  EXPECT_EQ(lane_->judge_process(), judge);
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

TEST_F(LaneTest, a_judge_that_was_stopped_is_not_the_submissions_fault) {
  ASSERT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
  Lease lease = lease_of(submission("return [0 for _ in iter(int, 1)]"));
  lease.submission.time_limit_ms = 3'000;
  std::thread stopper([judge = lane_->judge_process()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(judge, SIGSTOP);
  });
  const auto result = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
  stopper.join();
  EXPECT_TRUE(verdict_of(result).starts_with("error: the 3 s for the run were over while the judge"))
      << verdict_of(result);
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

TEST_F(LaneTest, a_reference_that_takes_all_the_time_is_not_the_submissions_fault) {
  const std::string kWithoutJudge = "while the judge did not wait for the submission",
                    kBeforeWork = "before the submission was at work";
  for (const std::string sleep_s : {"4", "0.6"}) {
    std::string slow(kProblem);
    slow.replace(slow.find("return x + 1"), 12, "import time; time.sleep(" + sleep_s + "); return x + 1");
    Lease lease = lease_of(submission("return x + 1"), slow);
    lease.submission.time_limit_ms = 300;
    const auto result = lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
    const auto says = [&](const std::string& reason) { return verdict_of(result).find(reason) != std::string::npos; };
    EXPECT_TRUE(verdict_of(result).starts_with("error: ")) << verdict_of(result);
    // On a busy host the judge may report too late after the shorter call, too.
    EXPECT_TRUE(says(kWithoutJudge) || (sleep_s == "0.6" && says(kBeforeWork))) << verdict_of(result);
  }
  EXPECT_EQ(verdict_of(run(submission("return x + 1"))), "passed");
}

TEST_F(LaneTest, an_attempt_stopped_before_it_began_does_not_begin) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(
      lane_->run(lease_of(submission("return x + 1")), {.verdict = {}, .dir = root_ / "built"}, stop.get_token()));
}

// Reports an Xid error at its third query.
class Faulty : public GpuWatch {
 public:
  std::optional<std::uint64_t> unowned_bytes() override { return std::nullopt; }
  std::vector<std::uint64_t> errors() override {
    return queries_++ < 2 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{31, 79};
  }
  Conditions conditions() override { return {}; }
  std::optional<std::vector<GpuProcess>> processes() override { return std::nullopt; }

 private:
  int queries_ = 0;
};

TEST_F(LaneTest, a_device_with_an_error_is_quarantined) {
  LaneOptions options = TestLane::options();
  options.scratch = root_ / "quarantined";
  options.watch = [](const DeviceInfo&) { return std::make_unique<Faulty>(); };
  auto lane = Lane::open(options);
  ASSERT_TRUE(lane) << lane.error().message;
  const auto run_here = [&] {
    return (*lane)->run(lease_of(submission("return x + 1")), {.verdict = {}, .dir = root_ / "built"});
  };
  ASSERT_EQ(verdict_of(run_here()), "passed");
  EXPECT_EQ((*lane)->quarantine(), std::nullopt);
  EXPECT_NE(verdict_of(run_here()).find("the driver reports Xid 79"), std::string::npos);
  ASSERT_NE((*lane)->quarantine(), std::nullopt);
  EXPECT_NE((*lane)->quarantine()->find("Xid 79"), std::string::npos);
  EXPECT_EQ(verdict_of(run_here()), "error: quarantined " + *(*lane)->quarantine());
}

// Lists all descendants of this process and the process 1 as users of the device.
class Crowded : public GpuWatch {
 public:
  explicit Crowded(std::size_t& seen_count) : seen_count_(seen_count) {}
  std::optional<std::uint64_t> unowned_bytes() override { return std::nullopt; }
  std::vector<std::uint64_t> errors() override { return {}; }
  Conditions conditions() override { return {.sm_clock_mhz = 1'980, .temperature_c = 41, .throttle = "none"}; }
  std::optional<std::vector<GpuProcess>> processes() override {
    std::vector<GpuProcess> all;
    add_children_of(::getpid(), all);
    seen_count_ = all.size();
    all.push_back({.pid = 1, .memory_mib = 512});
    return all;
  }

 private:
  static void add_children_of(std::uint32_t pid, std::vector<GpuProcess>& all) {
    std::error_code ignored;
    for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
      std::ifstream children(task.path() / "children");
      for (std::uint32_t child = 0; children >> child;) {
        all.push_back({.pid = child});
        add_children_of(child, all);
      }
    }
  }
  std::size_t& seen_count_;
};

TEST_F(LaneTest, a_result_has_the_conditions_and_the_foreign_processes_of_the_device) {
  std::size_t seen_count = 0;
  LaneOptions options = TestLane::options();
  options.scratch = root_ / "crowded";
  options.watch = [&](const DeviceInfo&) { return std::make_unique<Crowded>(seen_count); };
  auto lane = Lane::open(options);
  ASSERT_TRUE(lane) << lane.error().message;
  const auto result = (*lane)->run(lease_of(submission("return x + 1")), {.verdict = {}, .dir = root_ / "built"});
  ASSERT_EQ(verdict_of(result), "passed");
  EXPECT_EQ(result->conditions, (Conditions{.sm_clock_mhz = 1'980,
                                            .temperature_c = 41,
                                            .throttle = "none",
                                            .foreign = {{{.pid = 1, .memory_mib = 512}}}}));
  EXPECT_GE(seen_count, 2u)
      << "at least a judge and a zygote; children may be forked by the tests' shared Python instead";
  EXPECT_EQ(run(submission("return x + 1"))->conditions, std::nullopt) << "without a GpuWatch there are no conditions";
}

// Makes a script that starts another program, so that a test can take the program away.
fs::path script_that_starts(const fs::path& path, const std::string& program) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\nexec " << program << " \"$@\"\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_F(LaneTest, a_lane_is_quarantined_after_three_failed_starts_of_its_judge_or_python) {
  const std::string judge_program = TestLane::options().judge_program, python = TestLane::options().zygote.python;
  for (const std::string program : {"judge", "Python"}) {
    LaneOptions options = TestLane::options();
    options.scratch = root_ / "does-not-start";
    options.judge_program = script_that_starts(root_ / "starts" / "judge", judge_program);
    options.zygote.python = script_that_starts(root_ / "starts" / "python", python);
    auto lane = Lane::open(options);
    ASSERT_TRUE(lane) << lane.error().message;
    const auto run_here = [&] {
      return (*lane)->run(lease_of(submission("return x + 1")), {.verdict = {}, .dir = root_ / "built"});
    };
    const auto end = [&] {
      if (program == "judge") return kill_and_await((*lane)->judge_process());
      const auto zygote = *(*lane)->zygote();
      kill_and_await(zygote->process());
      // Children that the zygote was forking may hold its socket for a moment longer.
      for (int i = 0; i < 6'000 && zygote->alive(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    };
    end();
    fs::rename(root_ / "starts", root_ / "gone");
    EXPECT_FALSE(run_here());
    EXPECT_FALSE(run_here());
    EXPECT_EQ((*lane)->quarantine(), std::nullopt);
    fs::rename(root_ / "gone", root_ / "starts");
    ASSERT_EQ(verdict_of(run_here()), "passed");
    end();
    fs::remove_all(root_ / "starts");
    std::string errors;
    for (int i = 0; i < kFailedStartsMax; ++i) {
      EXPECT_EQ((*lane)->quarantine(), std::nullopt) << "a success came between these failures and the earlier ones";
      const auto failed = run_here();
      ASSERT_FALSE(failed);
      errors += failed.error().message + "\n";
    }
    ASSERT_NE((*lane)->quarantine(), std::nullopt) << errors;
    EXPECT_NE((*lane)->quarantine()->find("its " + program + " did not start 3 times in a row"), std::string::npos)
        << *(*lane)->quarantine();
  }
}

// Makes a judge program that only reports the device that it has opened.
std::string judge_of(const fs::path& dir, const DeviceInfo& device) {
  fs::create_directories(dir);
  std::ofstream(dir / "ready", std::ios::binary) << encode_message(Message<JudgeReply>{0, JudgeReady{device}});
  std::ofstream(dir / "judge") << "#!/bin/sh\ncat " << dir / "ready"
                               << " >&3\nexec sleep 60\n";
  fs::permissions(dir / "judge", fs::perms::owner_all);
  return dir / "judge";
}

TEST_F(LaneTest, a_gpu_that_another_worker_has_is_not_opened) {
  const DeviceInfo gpu{
      .kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90", .memory_bytes = 1};
  LaneOptions options = TestLane::options();
  options.judge_program = judge_of(root_ / "locked", gpu);
  options.zygote.python = "/nonsense/python";
  options.lock_dirs = {root_ / "locks"};
  {
    const auto theirs = GpuLock::take(options.lock_dirs, gpu, "rack:8");
    ASSERT_TRUE(theirs) << theirs.error().message;
    const auto lane = Lane::open(options);
    ASSERT_FALSE(lane);
    EXPECT_EQ(lane.error().kind, ErrorKind::bad_input);
    EXPECT_NE(lane.error().message.find("kq-worker rack:8"), std::string::npos) << lane.error().message;
  }
  EXPECT_NE(Lane::open(options).error().message.find("/nonsense/python"), std::string::npos)
      << "the lane goes on to start its zygote";
}

// This test must be the last one of the lane, because an aborted lane runs nothing.
TEST_F(LaneTest, abort_ends_a_running_job_at_once) {
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    lane_->abort();
  });
  const auto start = std::chrono::steady_clock::now();
  const auto result = run(submission("return [0 for _ in iter(int, 1)]", "import time\ntime.sleep(30)"));
  const auto took = std::chrono::steady_clock::now() - start;
  aborter.join();
  EXPECT_FALSE(result);
  EXPECT_LT(took, std::chrono::seconds(15)) << "below the limit of a load";
  EXPECT_FALSE(run(submission("return x + 1")));
}

}  // namespace
}  // namespace kq::worker
