#include "gpu_worker/lane/certificates.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/testing/examples.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class CertificatesTest : public testing::Test {
 protected:
  ~CertificatesTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  const fs::path dir_ = fs::temp_directory_path() / ("kq-certificates-" + std::to_string(::getpid()));
};

TEST_F(CertificatesTest, are_kept_by_key_for_later_workers) {
  const Hash key = sha256("a");
  EXPECT_FALSE(Certificates(dir_).find(key));
  ASSERT_TRUE(Certificates(dir_).keep(key, examples::certificate()));
  EXPECT_EQ(Certificates(dir_).find(key), examples::certificate());
  EXPECT_FALSE(Certificates(dir_).find(sha256("b")));
  ASSERT_TRUE(Certificates(dir_).keep(key, {}));
  EXPECT_EQ(Certificates(dir_).find(key), ProblemCertificate());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1) << "nothing else is left";
}

TEST_F(CertificatesTest, a_damaged_file_counts_as_absent) {
  ASSERT_TRUE(Certificates(dir_).keep(sha256("a"), examples::certificate()));
  std::ofstream(dir_ / to_hex(sha256("a"))) << "no certificate";
  EXPECT_FALSE(Certificates(dir_).find(sha256("a")));
}

TEST_F(CertificatesTest, depend_on_the_problem_its_tolerances_its_workloads_and_the_kind_of_device) {
  const Submission submission = examples::submission();
  std::set<Hash> keys{certificate_key(submission, DeviceKind::cpu), certificate_key(submission, DeviceKind::cuda)};
  const auto add = [&](auto&& change) {
    Submission other = submission;
    change(other.problem);
    keys.insert(certificate_key(other, DeviceKind::cpu));
  };
  add([](Problem& problem) { problem.hash = sha256("another"); });
  add([](Problem& problem) { problem.precision = Precision::fp16; });
  add([](Problem& problem) { problem.rtol = 0.125; });
  add([](Problem& problem) { problem.atol = 0.125; });
  add([](Problem& problem) { problem.workloads = {{"small"}}; });
  EXPECT_EQ(keys.size(), 7u);
  Submission same = submission;
  same.problem.name = "another name";
  same.label = "another label";
  EXPECT_TRUE(keys.contains(certificate_key(same, DeviceKind::cpu)));
}

}  // namespace
}  // namespace kq::worker
