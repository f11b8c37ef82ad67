#include "tools/doctor/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kq::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

// A folder for one test, removed at its end.
class Remedies : public testing::Test {
 protected:
  Remedies() { fs::create_directories(bin_); }
  ~Remedies() override { fs::remove_all(root_); }

  void make_program(const std::string& name) {
    const fs::path file = bin_ / name;
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, fs::perms::owner_all);
  }

  const fs::path root_ = fs::path(testing::TempDir()) / ("kq-remedies-" + std::to_string(::getpid()));
  const fs::path bin_ = root_ / "build/release/bin";
};

TEST_F(Remedies, the_folder_tells_the_installation) {
  EXPECT_EQ(installation_of("/usr/bin"), Installation::packages);
  EXPECT_EQ(installation_of(bin_), Installation::tree);
  fs::create_directories(root_ / "scripts");
  std::ofstream(root_ / "scripts/setup") << "";
  EXPECT_EQ(installation_of(bin_), Installation::checkout);
}

TEST_F(Remedies, a_missing_worker_is_bad_and_a_missing_broker_is_not) {
  make_program("kq-gateway");
  const auto missing = missing_programs(bin_);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].what, "program: kq-worker");
  EXPECT_EQ(missing[0].health, Health::bad);
  EXPECT_EQ(missing[1].what, "program: kq-broker");
  EXPECT_EQ(missing[1].health, Health::good);
  EXPECT_THAT(missing[1].advice, StartsWith("only if it shall run on this host"));
  make_program("kq-worker");
  make_program("kq-broker");
  EXPECT_TRUE(missing_programs(bin_).empty());
}

TEST_F(Remedies, lines_fit_the_installation) {
  EXPECT_EQ(program_remedy(Installation::packages, "kq-worker"), "apt-get install ./kq-worker_*.deb");
  EXPECT_EQ(program_remedy(Installation::checkout, "kq-worker"), "scripts/build kq-worker");
  EXPECT_THAT(torch_remedy(Installation::packages), HasSubstr("/etc/kq/worker.env"));
  EXPECT_THAT(torch_remedy(Installation::checkout), HasSubstr("scripts/setup"));
  EXPECT_THAT(torch_remedy(Installation::tree), HasSubstr("KQ_PYTHON=ENV/bin/python"));
  EXPECT_EQ(compiler_remedy(Installation::packages), "apt-get install g++ python3-dev");
}

}  // namespace
}  // namespace kq::tools
