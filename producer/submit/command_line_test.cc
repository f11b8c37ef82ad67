#include "producer/submit/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "net/endpoint.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SubmitLine : public testing::Test {
 protected:
  void SetUp() override { forget_environment(); }
  void TearDown() override { forget_environment(); }
  static void forget_environment() {
    unsetenv("KQ_BROKER");
    unsetenv("KQ_KEY");
    unsetenv("KQ_SUBMITTER");
  }

  static std::variant<SubmitCommandLine, EarlyEnd> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "kq-submit");
    return parse_submit_command_line(static_cast<int>(words.size()), words.data());
  }
  static SubmitCommandLine parsed(std::vector<const char*> words) {
    const auto line = parse(std::move(words));
    if (const EarlyEnd* end = std::get_if<EarlyEnd>(&line)) ADD_FAILURE() << end->text;
    return std::holds_alternative<SubmitCommandLine>(line) ? std::get<SubmitCommandLine>(line) : SubmitCommandLine{};
  }
  static std::string error_text(std::vector<const char*> words) {
    const auto line = parse(std::move(words));
    const EarlyEnd* end = std::get_if<EarlyEnd>(&line);
    if (end == nullptr) return "accepted";
    EXPECT_EQ(end->code, ExitCode::bad_input);
    return end->text;
  }
};

TEST_F(SubmitLine, a_mistake_keeps_the_name_of_the_run) {
  const auto end = parse({"nowhere/*.py", "--run", "r"});
  ASSERT_TRUE(std::holds_alternative<EarlyEnd>(end));
  EXPECT_EQ(std::get<EarlyEnd>(end).code, ExitCode::bad_input);
  EXPECT_EQ(std::get<EarlyEnd>(end).run, "r");
}

TEST_F(SubmitLine, every_option_is_read) {
  const SubmitCommandLine line = parsed({"a.py",         "--problem",
                                         "p.py",         "b.py",
                                         "--problems",   "dir",
                                         "--backend",    "triton",
                                         "--device",     "cuda",
                                         "--gpu",        "NVIDIA H200",
                                         "--precision",  "bf16",
                                         "--run",        "r",
                                         "--broker",     "ipc:///tmp/x",
                                         "--wait",       "--timeout",
                                         "1.5",          "--force-rerun",
                                         "--repeat",     "3",
                                         "--keep-going", "--json",
                                         "--dry-run",    "--exit-zero",
                                         "-q",           "--baseline",
                                         "compile",      "--profile",
                                         "ncu",          "--need-extensions",
                                         "--truth-rms",  "3",
                                         "--truth-max",  "5",
                                         "--no-truth",   "--allow-precision",
                                         "tf32"});
  EXPECT_THAT(line.request.inputs, ElementsAre("a.py", "b.py"));
  EXPECT_EQ(line.request.options.problem, "p.py");
  EXPECT_EQ(line.request.options.problems, "dir");
  EXPECT_EQ(line.request.options.backend, Backend::triton);
  EXPECT_EQ(line.request.options.device, DeviceWish::cuda);
  EXPECT_EQ(line.request.options.gpu_model, "NVIDIA H200");
  EXPECT_EQ(line.request.options.precision, Precision::bf16);
  EXPECT_EQ(line.request.options.baseline, Baseline::compile);
  EXPECT_EQ(line.request.options.profile, Profiler::ncu);
  EXPECT_TRUE(line.request.options.need_extensions);
  EXPECT_EQ(line.request.options.truth_rms, 3);
  EXPECT_EQ(line.request.options.truth_max, 5);
  EXPECT_TRUE(line.request.options.no_truth);
  EXPECT_EQ(line.request.options.allow_precision, AllowedPrecision::tf32);
  EXPECT_EQ(line.request.run, "r");
  EXPECT_EQ(line.request.repeat, 3u);
  EXPECT_EQ(line.broker, "ipc:///tmp/x");
  EXPECT_EQ(line.timeout_ms, 1500);
  EXPECT_TRUE(line.wait && line.force_rerun && line.keep_going && line.json && line.dry_run && line.exit_zero &&
              line.quiet);
}

TEST_F(SubmitLine, defaults_leave_the_settings_of_files_unchanged) {
  const SubmitCommandLine line = parsed({"dir"});
  EXPECT_EQ(line.broker, "");  // the client finds the broker
  EXPECT_EQ(line.timeout_ms, std::nullopt);
  EXPECT_EQ(line.request.options.backend, std::nullopt);
  EXPECT_EQ(line.request.options.device, std::nullopt);
  EXPECT_FALSE(line.wait || line.json);
}

TEST_F(SubmitLine, the_key_comes_from_the_flag_or_the_environment) {
  EXPECT_EQ(parsed({"a"}).key, "");
  setenv("KQ_KEY", "env.key", 1);
  EXPECT_EQ(parsed({"a"}).key, "env.key");
  EXPECT_EQ(parsed({"a", "--key", "alice.key"}).key, "alice.key");
}

TEST_F(SubmitLine, a_run_is_shared_with_several_names) {
  EXPECT_THAT(parsed({"a.py", "--share", "bob", "--share", "web/eve", "b.py"}).share, ElementsAre("bob", "web/eve"));
}

TEST_F(SubmitLine, a_flag_wins_over_the_environment) {
  setenv("KQ_BROKER", "tcp://127.0.0.1:1", 1);
  EXPECT_EQ(parsed({"dir"}).broker, "tcp://127.0.0.1:1");
  EXPECT_EQ(parsed({"dir", "--broker", "tcp://127.0.0.1:2"}).broker, "tcp://127.0.0.1:2");
  setenv("KQ_BROKER", "nonsense", 1);
  EXPECT_THAT(error_text({"dir"}), HasSubstr("broker 'nonsense': a URL such as"));
}

TEST_F(SubmitLine, every_mistake_is_bad_input_in_one_sentence) {
  EXPECT_EQ(error_text({}), "PATH is required; see kq-submit --help");
  EXPECT_EQ(error_text({"a", "--nonsense"}), "there is no option '--nonsense' (kq-submit --help lists the options)");
  EXPECT_EQ(error_text({"a", "--backend", "hip"}),
            "--backend must be one of torch, triton, cuda, torch_cuda, multi_kernel, eval_program, got 'hip'");
  EXPECT_EQ(error_text({"a", "--device", "gpu"}), "--device must be one of any, cpu, cuda, got 'gpu'");
  EXPECT_EQ(error_text({"a", "--baseline", "fast"}), "--baseline must be one of eager, compile, got 'fast'");
  EXPECT_EQ(error_text({"a", "--profile", "nsys"}), "--profile must be one of none, ncu, got 'nsys'");
  EXPECT_EQ(error_text({"a", "--precision", "fp8"}),
            "--precision must be one of as_given, fp32, fp16, bf16, got 'fp8'");
  EXPECT_EQ(error_text({"a", "--repeat", "0"}), "--repeat must be from 1 to 1000, got 0");
  EXPECT_THAT(error_text({"a", "--repeat", "x"}), HasSubstr("--repeat"));
  EXPECT_THAT(error_text({"a", "--repeat", "-1"}), HasSubstr("--repeat"));
  EXPECT_THAT(error_text({"a", "--run"}), HasSubstr("--run"));
  for (const char* seconds : {"0", "-1", "nan", "inf", "1e99", "5m"}) {
    const std::string wanted = "--timeout: must be a number of seconds above 0, at most 30 days, got ";
    EXPECT_THAT(error_text({"a", "--wait", "--timeout", seconds}), HasSubstr(wanted + seconds));
  }
  EXPECT_EQ(error_text({""}), "a PATH is empty");
  EXPECT_EQ(error_text({"--spool", "waiting", "--dry-run"}), "--dry-run lists what a PATH holds, and there is none");
  EXPECT_EQ(error_text({"a.py", "--gpu", ""}), "--gpu is empty; leave it out, or say which");
  EXPECT_EQ(error_text({"a.py", "--require", "lab", "--require", ""}),
            "--require is empty; leave it out, or say which");
}

TEST_F(SubmitLine, says_when_and_where_a_job_may_run) {
  const SubmitCommandLine line = parsed({"--priority", "high", "--not-before", "2026-11-21T18:00Z", "--deadline",
                                         "+30d", "--require", "big", "--require", "lab", "--submitter", "ann", "a.py"});
  const InputOptions& options = line.request.options;
  EXPECT_THAT(line.request.inputs, ElementsAre("a.py"));
  EXPECT_EQ(options.priority, Priority::high);
  EXPECT_EQ(options.not_before_ms, 1'795'284'000'000);
  EXPECT_EQ(options.deadline_ms, options.now_ms + 30 * 86'400'000ll);
  EXPECT_EQ(options.labels, (std::vector<std::string>{"big", "lab"}));
  EXPECT_EQ(line.request.submitter, "ann");
}

TEST_F(SubmitLine, a_submitter_comes_from_the_flag_the_environment_or_the_user) {
  EXPECT_THAT(parsed({"a"}).request.submitter, HasSubstr("@"));
  EXPECT_EQ(parsed({"a"}).request.options.priority, std::nullopt);
  EXPECT_EQ(parsed({"a"}).request.options.labels, std::nullopt);
  setenv("KQ_SUBMITTER", "bob", 1);
  EXPECT_EQ(parsed({"a"}).request.submitter, "bob");
  EXPECT_EQ(parsed({"a", "--submitter", "ann"}).request.submitter, "ann");
}

TEST_F(SubmitLine, an_invalid_time_or_name_is_a_mistake) {
  EXPECT_EQ(error_text({"a", "--priority", "urgent"}), "--priority must be one of low, normal, high, got 'urgent'");
  EXPECT_THAT(error_text({"a", "--not-before", "soon"}), HasSubstr("--not-before must be a time such as"));
  EXPECT_EQ(error_text({"a", "--deadline", "2001-01-01T00:00Z"}),
            "--deadline is over already, got '2001-01-01T00:00Z'");
  EXPECT_THAT(error_text({"a", "--require", "a\nb"}), HasSubstr("--require"));
  EXPECT_THAT(error_text({"a", "--submitter", "a\nb"}), HasSubstr("--submitter"));
}

TEST_F(SubmitLine, help_and_version_are_no_mistakes) {
  const auto help = parse({"--help"});
  EXPECT_EQ(std::get<EarlyEnd>(help).code, ExitCode::ok);
  EXPECT_THAT(std::get<EarlyEnd>(help).text, HasSubstr("Exit codes: 0 done"));
  const auto version = parse({"--version"});
  EXPECT_EQ(std::get<EarlyEnd>(version).code, ExitCode::ok);
  EXPECT_THAT(std::get<EarlyEnd>(version).text, testing::MatchesRegex("kq-submit [0-9.]+\n"));
}

}  // namespace
}  // namespace kq::producer
