#include "producer/gateway/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kq::gateway {
namespace {

using testing::HasSubstr;

// A file that is removed at the end.
class TokenFile {
 public:
  TokenFile() {
    std::string name = (std::filesystem::temp_directory_path() / "kq-tokens.XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path_ = name;
  }
  ~TokenFile() { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const NewToken kAda = make_token("ada", 5, "random bytes of ada");
const NewToken kBob = make_token("bob", 0, "random bytes of bob");

TEST(Tokens, a_token_names_its_submitter) {
  const TokenFile file;
  file.write("# who may submit\n\n" + kAda.line + "\r\n" + kBob.line);
  const auto tokens = Tokens::open(file.path());
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ((*tokens)->find(kAda.token), (Submitter{.name = "ada", .jobs_max = 5}));
  EXPECT_EQ((*tokens)->find(kBob.token)->name, "bob");
  EXPECT_EQ((*tokens)->find(kAda.token + "x"), std::nullopt);
  EXPECT_EQ((*tokens)->find(""), std::nullopt);
}

TEST(Tokens, a_file_does_not_hold_tokens_themselves) {
  EXPECT_EQ(kAda.token.size(), kTokenPrefix.size() + 64);
  EXPECT_THAT(kAda.line, testing::Not(HasSubstr(kAda.token.substr(kTokenPrefix.size()))));
}

TEST(Tokens, mistakes_are_named_with_their_line) {
  for (const std::string& line :
       {std::string("abc ada 0"), kAda.line + " more", kAda.line.substr(0, 64), kAda.line.substr(0, 64) + " a/b 0",
        kAda.line.substr(0, 64) + " ada -1", kAda.line.substr(0, 64) + " ada many", kBob.line})
    EXPECT_THAT(parse_tokens("f", kBob.line + "\n" + line).error().message, HasSubstr("tokens f:2: ")) << line;
}

TEST(Tokens, a_changed_file_is_read_again) {
  const TokenFile file;
  file.write(kAda.line);
  const auto tokens = Tokens::open(file.path());
  ASSERT_TRUE(tokens);
  EXPECT_EQ((*tokens)->refresh(), std::nullopt);
  file.write(kAda.line + "\n" + kBob.line);
  EXPECT_THAT(*(*tokens)->refresh(), HasSubstr("read again, 2 tokens"));
  EXPECT_TRUE((*tokens)->find(kBob.token));
  file.write("a mistake here");
  EXPECT_THAT(*(*tokens)->refresh(), HasSubstr("the tokens from before stay in force"));
  EXPECT_EQ((*tokens)->refresh(), std::nullopt);
  EXPECT_TRUE((*tokens)->find(kAda.token));
  file.write("");
  EXPECT_THAT(*(*tokens)->refresh(), HasSubstr("0 tokens"));
  EXPECT_FALSE((*tokens)->find(kAda.token));
}

TEST(Tokens, a_file_that_others_may_write_is_refused) {
  const TokenFile file;
  file.write(kAda.line);
  ::chmod(file.path().c_str(), 0666);
  EXPECT_THAT(Tokens::open(file.path()).error().message, HasSubstr("chmod go-w"));
  EXPECT_FALSE(Tokens::open("/no/such/file"));
}

}  // namespace
}  // namespace kq::gateway
