#include "sys/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace kq::sys {
namespace {

using testing::HasSubstr;

// A program with options of two groups.
class CommandLine : public testing::Test {
 protected:
  CommandLine() : app("Does things.", "kq-thing") {
    app.add_option("PATH", path, "a path");
    app.add_option("--devices", devices,
                   "devices of the worker, which run its jobs, each of them only once at any time")
        ->type_name("LIST")
        ->envname("KQ_DEVICES")
        ->group("Devices");
    app.add_option("--level", level, "how much to log")->check(CLI::IsMember({"warn", "info"}))->group("Logs");
    prepare(app);
  }

  // Returns the sentence about the mistake in a command line.
  std::string mistake(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return mistake_text(app, error);
    }
    return empty_value_text(app).value_or("");
  }

  std::string path, devices, level = "info";
  CLI::App app;
};

TEST_F(CommandLine, an_option_that_is_given_twice_is_named) {
  EXPECT_EQ(mistake({"--devices", "cpu", "--devices", "cuda"}),
            "--devices is given 2 times, but takes one value (kq-thing --help lists the options)");
}

TEST_F(CommandLine, an_unknown_option_gets_the_nearest_known_one) {
  EXPECT_EQ(mistake({"--device", "cpu"}),
            "there is no option '--device'; did you mean --devices? (kq-thing --help lists the options)");
  EXPECT_EQ(mistake({"a", "b"}), "'b' is one argument too many (kq-thing --help lists the options)");
}

TEST_F(CommandLine, an_empty_value_is_a_mistake) {
  EXPECT_EQ(mistake({"--devices", ""}), "--devices is empty; give it a value, or leave it out");
  EXPECT_EQ(empty_value_text(app, "--devices"), std::nullopt);
}

TEST_F(CommandLine, the_help_has_groups_and_wrapped_lines) {
  const std::string text = help_text(app);
  EXPECT_THAT(text, HasSubstr("Usage: kq-thing [options] [PATH]\n"));
  EXPECT_THAT(text,
              HasSubstr("\nDevices:\n  --devices LIST            devices of the worker, which run its jobs, each"));
  EXPECT_THAT(text, HasSubstr("[KQ_DEVICES]\n"));
  EXPECT_THAT(text, HasSubstr("\nLogs:\n  --level warn|info"));
  EXPECT_LT(text.find("Logs:"), text.find("-h,--help"));
  for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1)
    EXPECT_LE(text.find('\n', from) - from, 100u);
}

TEST_F(CommandLine, a_form_with_a_colon_is_shown_whole_and_bounds_are_not) {
  std::string address;
  int count = 0;
  double rate = 0;
  app.add_option("--listen", address, "where")->type_name("HOST:PORT");
  app.add_option("--count", count, "how many")->check(CLI::Range(1, 5));
  app.add_option("--rate", rate, "how fast")->type_name("S")->check(CLI::Range(0.0, 5.0));
  const std::string text = help_text(app);
  EXPECT_THAT(text, HasSubstr("  --listen HOST:PORT        where\n"));
  EXPECT_THAT(text, HasSubstr("  --count N                 how many\n"));
  EXPECT_THAT(text, HasSubstr("  --rate S                  how fast\n"));
}

}  // namespace
}  // namespace kq::sys
