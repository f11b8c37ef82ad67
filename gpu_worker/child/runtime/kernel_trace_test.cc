// A fake CUPTI hands over records as CUPTI's buffers hold them, so that the same code collects them. That CUPTI itself
// fills the buffers is tested on a GPU (tests/gpu/audit_gpu_test.cc).
#include "gpu_worker/child/runtime/kernel_trace.h"

#include <cstring>

#include <gtest/gtest.h>

namespace kq::runtime {
namespace {

CuptiActivity::Requested requested = nullptr;
CuptiActivity::Completed completed = nullptr;
std::vector<KernelRecord> to_flush;
int enabled = 0;

int register_callbacks(CuptiActivity::Requested a, CuptiActivity::Completed b) {
  requested = a;
  completed = b;
  return 0;
}
int enable(int kind) {
  enabled += kind;
  return 0;
}
int refuse(int) {
  return 1;
}
int disable(int kind) {
  enabled -= kind;
  return 0;
}
// The place of the next record is kept behind the records of a buffer.
std::size_t read_at = 0;
int next(std::uint8_t* buffer, std::size_t valid_size, void** record) {
  if (read_at + sizeof(KernelRecord) > valid_size) return 12;
  *record = buffer + read_at;
  read_at += sizeof(KernelRecord);
  return 0;
}
int flush(std::uint32_t) {
  while (!to_flush.empty()) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, count_max = 1;
    requested(&buffer, &size, &count_max);
    EXPECT_EQ(count_max, 0u);
    if (buffer == nullptr) return 0;  // CUPTI drops the records
    const std::size_t count = std::min(to_flush.size(), size / sizeof(KernelRecord));
    std::memcpy(buffer, to_flush.data(), count * sizeof(KernelRecord));
    to_flush.erase(to_flush.begin(), to_flush.begin() + static_cast<std::ptrdiff_t>(count));
    read_at = 0;
    completed(nullptr, 0, buffer, size, count * sizeof(KernelRecord));
  }
  return 0;
}

KernelRecord record(const char* name, std::uint32_t correlation, std::uint64_t ns) {
  KernelRecord made{};
  made.kind = 10;
  made.start_ns = 1'000;
  made.end_ns = 1'000 + ns;
  made.correlation = correlation;
  made.name = name;
  return made;
}

class KernelTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    to_flush.clear();
    enabled = 0;
  }
  CuptiActivity activity_{register_callbacks, enable, disable, flush, next};
  KernelTrace trace_;
};

TEST_F(KernelTraceTest, lists_kernels_with_their_launchers_the_longest_first) {
  ASSERT_TRUE(trace_.begin(activity_));
  EXPECT_TRUE(trace_.wants_modules_of("_Z4reluPf"));
  trace_.on_launch(1, "_Z4reluPf", "/kq/work/x.so");
  trace_.on_launch(2, "_Z4reluPf", "/kq/work/x.so");
  trace_.on_launch(3, "gemm", "/opt/libcublas.so.13");
  to_flush = {record("_Z4reluPf", 1, 10), record("_Z4reluPf", 2, 20), record("gemm", 3, 500)};
  EXPECT_EQ(trace_.end(), (std::vector<std::string>{"kernel\t1\t500\t/opt/libcublas.so.13\tgemm",
                                                    "kernel\t2\t30\t/kq/work/x.so\trelu(float*)", "watched\t2\t0"}));
  EXPECT_EQ(enabled, 0);
  EXPECT_FALSE(trace_.is_on());
}

// The kernels of a graph have the number of the graph's launch, which names no kernel.
TEST_F(KernelTraceTest, a_kernel_of_a_graph_has_the_launcher_of_its_capture) {
  trace_.on_launch(7, "relu", "/kq/work/x.so");  // while it is captured, in a call that is not watched
  ASSERT_TRUE(trace_.begin(activity_));
  to_flush = {record("relu", 900, 10), record("other", 900, 5)};
  EXPECT_EQ(trace_.end(), (std::vector<std::string>{"kernel\t1\t10\t/kq/work/x.so\trelu", "kernel\t1\t5\t-\tother",
                                                    "watched\t2\t0"}));
}

TEST_F(KernelTraceTest, the_same_name_from_two_libraries_is_two_kernels) {
  ASSERT_TRUE(trace_.begin(activity_));
  trace_.on_launch(1, "k", "/a.so");
  trace_.on_launch(2, "k", "/b.so");
  to_flush = {record("k", 1, 10), record("k", 2, 5)};
  EXPECT_EQ(trace_.end().size(), 3u);
}

TEST_F(KernelTraceTest, each_watched_call_begins_anew) {
  ASSERT_TRUE(trace_.begin(activity_));
  EXPECT_FALSE(trace_.begin(activity_)) << "it is on already";
  to_flush = {record("k", 1, 10)};
  EXPECT_EQ(trace_.end().size(), 2u);
  EXPECT_TRUE(trace_.end().empty());
  ASSERT_TRUE(trace_.begin(activity_));
  EXPECT_EQ(trace_.end(), std::vector<std::string>{"watched\t0\t0"});
}

TEST_F(KernelTraceTest, where_cupti_refuses_nothing_is_watched) {
  activity_.enable = refuse;
  EXPECT_FALSE(trace_.begin(activity_));
  EXPECT_TRUE(trace_.end().empty());
  activity_.enable = nullptr;
  EXPECT_FALSE(trace_.begin(activity_));
}

TEST_F(KernelTraceTest, is_bounded_and_has_no_separators_in_its_fields) {
  ASSERT_TRUE(trace_.begin(activity_));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 2 * kTraceDistinctMax; ++i)
    names.push_back("a\tb\n" + std::to_string(i) + std::string(i == 0 ? 5'000 : 0, 'x'));
  for (std::size_t i = 0; i < names.size(); ++i) {
    trace_.on_launch(static_cast<std::uint32_t>(i), names[i], std::string(5'000, '/'));
    to_flush.push_back(record(names[i].c_str(), static_cast<std::uint32_t>(i), 2));
  }
  const auto lines = trace_.end();
  ASSERT_EQ(lines.size(), kTraceKernelsMax + 1);
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), kTraceNameBytesMax + kTraceModulesBytesMax + 60);
    EXPECT_EQ(line.find('\n'), line.npos);
  }
  EXPECT_EQ(lines.back(), "watched\t1024\t" + std::to_string(2 * (1'024 - kTraceKernelsMax)));
}

TEST_F(KernelTraceTest, more_records_than_the_buffers_hold_are_lost) {
  ASSERT_TRUE(trace_.begin(activity_));
  const std::size_t held = kTraceBuffersMax * (kTraceBufferBytes / sizeof(KernelRecord));
  to_flush.assign(held + 10, record("k", 1, 1));
  EXPECT_EQ(trace_.end().front(), "kernel\t" + std::to_string(held) + "\t" + std::to_string(held) + "\t-\tk");
}

}  // namespace
}  // namespace kq::runtime
