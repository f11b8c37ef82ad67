#include "sys/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq::sys {
namespace {

const std::vector<std::string> kWords{"submit", "sweep", "up", "down", "results", "dump"};

TEST(nearest, a_word_with_one_wrong_letter_is_found) {
  EXPECT_EQ(nearest("sweeps", kWords), "sweep");
  EXPECT_EQ(nearest("result", kWords), "results");
  EXPECT_EQ(nearest("dmup", kWords), "dump");
}

TEST(nearest, a_dissimilar_word_is_not_found) {
  EXPECT_EQ(nearest("frobnicate", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kWords), std::nullopt);
}

TEST(nearest, the_more_similar_of_two_words_wins) {
  const std::vector<std::string> words{"--state", "--stats"};
  EXPECT_EQ(nearest("--stat", words), "--state");
  EXPECT_EQ(nearest("--stats", words), "--stats");
}

}  // namespace
}  // namespace kq::sys
