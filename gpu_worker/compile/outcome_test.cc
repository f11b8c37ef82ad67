#include "gpu_worker/compile/outcome.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/limits.h"
#include "guard/facts.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class BuildOutcomeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("kq-outcome-" + std::to_string(::getpid()));
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  void leave(const std::string& name, const std::string& bytes) const {
    std::ofstream(dir_ / name, std::ios::binary) << bytes;
  }
  // Returns "build_failed at build: message", or "built".
  std::string read() const {
    const auto verdict = read_outcome(dir_);
    if (!verdict) return "built";
    const Evidence& evidence = *evidence_of(*verdict);
    return std::string(to_string(name_of(*verdict))) + " at " + std::string(to_string(evidence.stage)) + ": " +
           evidence.message;
  }
  fs::path dir_;
};

TEST_F(BuildOutcomeTest, the_status_decides_the_verdict) {
  leave("status", "ok\n");
  EXPECT_EQ(read(), "built");
  leave("message", "no nvrtc");
  leave("status", "disk\n");
  EXPECT_EQ(read(), "out_of_memory at build: no nvrtc");
  EXPECT_EQ(evidence_of(*read_outcome(dir_))->reason, "disk");
  leave("status", "unsupported\n");
  EXPECT_EQ(read(), "unsupported_here at build: no nvrtc");
  leave("status", "failed\n");
  EXPECT_EQ(read(), "build_failed at build: no nvrtc");
  leave("status", "okay\n");
  EXPECT_EQ(read(), "build_failed at build: no nvrtc");
}

TEST_F(BuildOutcomeTest, a_message_that_begins_with_a_place_names_it) {
  leave("status", "failed\n");
  const std::pair<std::string, std::string> messages[] = {{"k.py:2: invalid syntax", "k.py:2"},
                                                          {"k.cu:31", ""},
                                                          {"k.py: no such file", ""},
                                                          {"in k.py:2: no", ""},
                                                          {":3: no", ""},
                                                          {std::string(kNameBytesMax + 1, 'k') + ":2: no", ""}};
  for (const auto& [message, place] : messages) {
    leave("message", message);
    EXPECT_EQ(evidence_of(*read_outcome(dir_))->place, place) << message;
  }
}

TEST_F(BuildOutcomeTest, a_build_without_a_status_has_failed) {
  EXPECT_EQ(read(), "build_failed at build: the build left no result");
}

TEST_F(BuildOutcomeTest, the_compilers_are_told_in_two_parts) {
  EXPECT_EQ(toolchain_in(dir_), Toolchain());
  leave("toolchain", "NVRTC 13.0");
  EXPECT_EQ(toolchain_in(dir_), (Toolchain{.compiler = "NVRTC 13.0", .flags = ""}));
  leave("toolchain", "NVRTC\x1b 13.0\n-O3 -arch=sm_90a\nmore\n");
  EXPECT_EQ(toolchain_in(dir_), (Toolchain{.compiler = "NVRTC? 13.0", .flags = "-O3 -arch=sm_90a"}));
  EXPECT_EQ(toolchain_id_in(dir_), std::nullopt);
  leave("toolchain_id", "nvcc 13");
  EXPECT_EQ(toolchain_id_in(dir_), "nvcc 13");
}

TEST_F(BuildOutcomeTest, a_failure_that_would_come_again_is_final) {
  EXPECT_FALSE(is_final(dir_));
  leave("final", "");
  EXPECT_TRUE(is_final(dir_));
}

TEST_F(BuildOutcomeTest, a_broken_rule_comes_before_the_status) {
  leave("status", "ok\n");
  leave("facts", "file\tk.py\t2\n4\tcall\ttorch.cuda.Stream\n");
  EXPECT_EQ(read(), "rejected at guard: creates a CUDA stream: torch.cuda.Stream");
  leave("facts", "file\tk.py\t2\n4\tset\ttime.time\t?\n");
  EXPECT_EQ(evidence_of(*read_outcome(dir_))->reason, "policy");
  leave("facts", "file\tk.py\t2\n4\tcall\tos.fork\n");
  EXPECT_EQ(read(), "built");
  leave("facts", "nonsense\n");
  EXPECT_EQ(read().find("build_failed at guard: facts, line 1"), 0u) << read();
}

TEST_F(BuildOutcomeTest, a_job_may_lift_the_rules_of_streams) {
  leave("status", "ok\n");
  leave("facts", "file\tk.py\t2\n4\tcall\ttorch.cuda.Stream\n");
  EXPECT_TRUE(read_outcome(dir_));
  EXPECT_FALSE(read_outcome(dir_, {.streams = Streams::joined}));
}

TEST_F(BuildOutcomeTest, the_first_place_of_each_rule_for_review_is_kept) {
  leave("status", "ok\n");
  leave("facts", "file\tk.py\t2\n4\tcall\tos.fork\n6\tcall\tos.fork\n7\tcall\tsocket.socket\n");
  std::vector<ReviewFinding> findings{{.rule = "network", .place = "first.cu:1"}};
  EXPECT_FALSE(read_outcome(dir_, {}, &findings));
  const std::vector<ReviewFinding> expected{{.rule = "network", .place = "first.cu:1"},
                                            {.rule = "process", .place = "k.py:4"}};
  EXPECT_EQ(findings, expected);
}

TEST_F(BuildOutcomeTest, the_preprocessed_source_is_judged) {
  leave("status", "ok\n");
  leave("source.ii", "# 7 \"k.cu\"\nk<<<1, 2, 0, ((cudaStream_t)0x0)>>>();\n");
  EXPECT_EQ(read(), "built");
  leave("source.ii", "# 7 \"k.cu\"\nk<<<1, 2, 0, ((cudaStream_t)0x2)>>>();\n");
  EXPECT_EQ(read(), "rejected at guard: uses a stream by a special handle: stream_number 0x2");
  EXPECT_EQ(evidence_of(*read_outcome(dir_))->place, "k.cu:7");
}

TEST_F(BuildOutcomeTest, a_built_library_is_judged_by_its_imports) {
  leave("status", "ok\n");
  leave("module.so", std::string("\x7f"
                                 "ELF") +
                         std::string(100, '\0'));
  EXPECT_EQ(read().find("rejected at guard: was built so that its use of CUDA cannot be seen"), 0u) << read();
  EXPECT_EQ(evidence_of(*read_outcome(dir_))->place, "module.so");
}

TEST_F(BuildOutcomeTest, a_message_is_cut_to_its_limit) {
  leave("status", "failed\n");
  leave("message", std::string(2 * kMessageTextMax, 'x'));
  EXPECT_EQ(evidence_of(*read_outcome(dir_))->message.size(), kMessageTextMax);
}

TEST_F(BuildOutcomeTest, control_characters_of_a_message_are_replaced) {
  leave("status", "failed\n");
  leave("message", "k.py:2: \x1b[2Jgone\x07\xff\nsecond");
  EXPECT_EQ(read(), "build_failed at build: k.py:2: ?[2Jgone??\nsecond");
  const Verdict verdict = rejected({.file = "a\x1b.py", .line = 3, .message = "makes \x9b"});
  EXPECT_EQ(evidence_of(verdict)->place, "a?.py:3");
  EXPECT_EQ(evidence_of(verdict)->message, "makes ?");
}

// Facts that were cut off at the end of a line would look complete, and the rest would never be judged.
TEST_F(BuildOutcomeTest, too_many_facts_fail_the_build) {
  leave("status", "ok\n");
  std::string facts = "file\tk.py\t2\n";
  while (facts.size() + 200 <= guard::kFactsBytesMax) facts += "1\tcall\t" + std::string(92, 'x') + "\n";
  facts += "1\tcall\t" + std::string(guard::kFactsBytesMax - facts.size() - 8, 'x') + "\n";
  ASSERT_EQ(facts.size(), guard::kFactsBytesMax);
  leave("facts", facts);
  EXPECT_EQ(read(), "built");
  leave("facts", facts + "2\tcall\ttorch.cuda.Stream\n");
  EXPECT_EQ(read().find("build_failed at guard: facts: more than"), 0u) << read();
}

}  // namespace
}  // namespace kq::worker
