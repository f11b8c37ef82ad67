#include "tools/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

struct Values {
  std::string path;
  std::string run = "default";
  std::string broker;
  std::string format = "csv";
  std::optional<double> timeout;
  std::uint32_t count = 1;
  bool json = false;
};

// What parsing one command line gave: the exit code, the values, and what was printed.
struct Answer {
  std::optional<ExitCode> code;
  Values values;
  std::string out;
  std::string err;
};

Answer ask(std::vector<const char*> words) {
  Answer answer;
  Values& values = answer.values;
  Flags flags("kq-try", "Tries flags.");
  flags.argument("path", "A file", values.path);
  flags.option("--run", "NAME", "The run", values.run);
  flags.option("--broker", "URL", "The broker", values.broker, "KQ_FLAGS_TEST_BROKER");
  flags.choice("--format", "How", values.format, {"csv", "jsonl"});
  flags.seconds("--timeout", "How long", values.timeout);
  flags.number("--count", "How many", values.count, 1, 9);
  flags.flag("--json", "As JSON", values.json);
  words.insert(words.begin(), "kq-try");
  CaptureStdout();
  CaptureStderr();
  answer.code = flags.parse(static_cast<int>(words.size()), words.data());
  answer.err = GetCapturedStderr();
  answer.out = GetCapturedStdout();
  return answer;
}

TEST(flags, number_must_be_whole_and_within_its_bounds) {
  EXPECT_EQ(ask({"x.py", "--count", "9"}).values.count, 9u);
  for (const char* wrong : {"0", "10", "-1", "1.5", "many", "99999999999"}) {
    const Answer answer = ask({"x.py", "--count", wrong});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << wrong;
    EXPECT_THAT(answer.err, HasSubstr(std::string("must be a whole number from 1 to 9, got ") + wrong));
  }
}

TEST(flags, values_are_filled_in) {
  const Answer answer = ask({"--run", "r1", "x.py", "--timeout", "1.5", "--json", "--format=jsonl"});
  EXPECT_EQ(answer.code, std::nullopt);
  EXPECT_EQ(answer.values.path, "x.py");
  EXPECT_EQ(answer.values.run, "r1");
  EXPECT_EQ(answer.values.timeout, 1.5);
  EXPECT_EQ(answer.values.format, "jsonl");
  EXPECT_TRUE(answer.values.json);
}

TEST(flags, absent_flags_keep_their_defaults) {
  const Answer answer = ask({"x.py"});
  EXPECT_EQ(answer.values.run, "default");
  EXPECT_EQ(answer.values.timeout, std::nullopt);
  EXPECT_FALSE(answer.values.json);
}

TEST(flags, the_command_line_beats_the_environment) {
  ::setenv("KQ_FLAGS_TEST_BROKER", "ipc://env", 1);
  EXPECT_EQ(ask({"x.py"}).values.broker, "ipc://env");
  EXPECT_EQ(ask({"x.py", "--broker", "ipc://flag"}).values.broker, "ipc://flag");
  ::unsetenv("KQ_FLAGS_TEST_BROKER");
}

TEST(flags, help_and_version_are_printed_on_standard_output) {
  const Answer help = ask({"--help"});
  EXPECT_EQ(help.code, ExitCode::ok);
  EXPECT_THAT(help.out, HasSubstr("Tries flags."));
  EXPECT_THAT(help.out, HasSubstr("--broker URL"));
  const Answer version = ask({"--version"});
  EXPECT_EQ(version.code, ExitCode::ok);
  EXPECT_THAT(version.out, HasSubstr("kq-try 0."));
  EXPECT_EQ(help.err + version.err, "");
}

TEST(flags, a_run_is_an_argument_or_an_option_before_other_arguments) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"kq-try", "r1", "a", "b"}, {"kq-try", "--run", "r1", "a", "b"}}) {
    std::string run;
    std::vector<std::string> labels;
    Flags flags("kq-try", "Tries flags.");
    flags.run("The run", run);
    flags.arguments("LABEL", "Labels", labels);
    EXPECT_FALSE(flags.parse(static_cast<int>(words.size()), words.data()));
    EXPECT_EQ(run, "r1");
    EXPECT_EQ(labels, (std::vector<std::string>{"a", "b"}));
  }
}

// Returns the value of --format after parsing, or the sentence about a mistake.
std::string format_after(std::vector<const char*> words) {
  std::string format = "table";
  Flags flags("kq-try", "Tries flags.");
  flags.format("How", format, {"table", "csv", "json"});
  words.insert(words.begin(), "kq-try");
  CaptureStderr();
  const auto code = flags.parse(static_cast<int>(words.size()), words.data());
  const std::string err = GetCapturedStderr();
  return code ? err : format;
}

TEST(flags, a_format_has_short_forms) {
  EXPECT_EQ(format_after({}), "table");
  EXPECT_EQ(format_after({"--format", "csv"}), "csv");
  EXPECT_EQ(format_after({"--csv"}), "csv");
  EXPECT_EQ(format_after({"--json"}), "json");
  EXPECT_THAT(format_after({"--json", "--format", "csv"}), HasSubstr("--format excludes --json"));
  EXPECT_THAT(format_after({"--json", "--csv"}), HasSubstr("excludes"));
  EXPECT_THAT(format_after({"--jsonl"}), HasSubstr("there is no option '--jsonl'"));
}

TEST(flags, a_program_that_prints_json_takes_the_format_too) {
  const auto is_json = [](std::vector<const char*> words) {
    bool json = false;
    Flags flags("kq-try", "Tries flags.");
    flags.json("As JSON", json);
    words.insert(words.begin(), "kq-try");
    EXPECT_FALSE(flags.parse(static_cast<int>(words.size()), words.data()));
    return json;
  };
  EXPECT_FALSE(is_json({}));
  EXPECT_TRUE(is_json({"--json"}));
  EXPECT_TRUE(is_json({"--format", "json"}));
  EXPECT_FALSE(is_json({"--format", "table"}));
}

TEST(flags, a_flag_without_value_may_be_repeated) {
  EXPECT_TRUE(ask({"x.py", "--json", "--json"}).values.json);
}

struct Wrong {
  std::vector<const char*> words;
  const char* sentence;
};

class WrongCommandLine : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongCommandLine, ends_with_bad_input_and_one_sentence) {
  const Answer answer = ask(GetParam().words);
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr(GetParam().sentence));
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  EXPECT_EQ(answer.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    all, WrongCommandLine,
    ::testing::Values(Wrong{{"x.py", "--rum", "a"}, "there is no option '--rum'; did you mean --run?"},
                      Wrong{{"x.py", "--frobnicate"}, "there is no option '--frobnicate' ("},
                      Wrong{{"x.py", "y.py"}, "'y.py' is one argument too many"}, Wrong{{}, "path is required"},
                      Wrong{{"x.py", "--run"}, "--run"},
                      Wrong{{"x.py", "--run", "a", "--json", "--run", "b"},
                            "--run is given 2 times, but takes one value ("},
                      Wrong{{"x.py", "--format", "csv", "--format", "csv"}, "--format is given 2 times"},
                      Wrong{{"x.py", "--timeout", "1", "--timeout", "2"}, "--timeout is given 2 times"},
                      Wrong{{"x.py", "--run", ""}, "--run is empty; give it a value, or leave it out"},
                      Wrong{{""}, "path is empty"},
                      Wrong{{"x.py", "--format", "xml"}, "must be one of csv|jsonl, got xml"},
                      Wrong{{"x.py", "--timeout", "soon"}, "must be a number of seconds above 0, got soon"},
                      Wrong{{"x.py", "--timeout", "0"}, "must be a number of seconds above 0, got 0"},
                      Wrong{{"x.py", "--timeout", "nan"}, "must be a number of seconds above 0, got nan"}));

}  // namespace
}  // namespace kq::tools
