// Fake functions replace CUPTI's. The tests check that events which arrive through the callback become lines; that
// CUPTI itself calls the callback is tested on a GPU (tests/gpu/audit_gpu_test.cc).
#include "gpu_worker/child/runtime/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

constexpr std::uint32_t kDriver = 1, kResource = 3;
constexpr std::uint32_t kContextCreated = 1, kStreamCreated = 3, kAttributeChanged = 21;

// What the audit has asked the fake CUPTI for.
struct Subscribed {
  Cupti::Callback callback = nullptr;
  void* user = nullptr;
  bool is_deaf = false;
  std::vector<std::string> enabled;
  std::vector<std::string> disabled;
};
Subscribed subscribed;
const std::vector<const char*> kFunctions{"cuInit",           "cuStreamCreate",  "cuLaunchKernel",
                                          "cuLaunchKernelEx", "cuGraphLaunch",   "cuMemcpyAsync_ptsz",
                                          "cuCtxSetLimit",    "cuMemcpyDtoH_v2", "cudaMemcpyAsync"};

int subscribe(void** subscriber, Cupti::Callback callback, void* user) {
  subscribed.callback = callback;
  subscribed.user = user;
  *subscriber = &subscribed;
  return 0;
}
int subscribe_too_late(void**, Cupti::Callback, void*) {
  return 39;
}
int name_of(std::uint32_t domain, std::uint32_t id, const char** name) {
  if (domain != kDriver || id > kFunctions.size()) return 1;
  *name = kFunctions[id - 1];
  return 0;
}
int enable(std::uint32_t on, void*, std::uint32_t domain, std::uint32_t id) {
  const char* name = nullptr;
  if (name_of(domain, id, &name) == 0) (on != 0 ? subscribed.enabled : subscribed.disabled).emplace_back(name);
  return 0;
}
int stream_create(void** stream, unsigned) {
  *stream = &subscribed;
  if (!subscribed.is_deaf) subscribed.callback(subscribed.user, kResource, kStreamCreated, nullptr);
  return 0;
}
int stream_destroy(void*) {
  return 0;
}

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    subscribed = {};
    ASSERT_EQ(::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK), 0);
  }
  void TearDown() override {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  void begin() { audit_.begin(cupti_, pipe_[1]); }
  std::string lines() {
    std::string text(64u << 10, '\0');
    const ssize_t n = ::read(pipe_[0], text.data(), text.size());
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
  }
  static void resource(std::uint32_t id, const void* data = nullptr) {
    subscribed.callback(subscribed.user, kResource, id, data);
  }
  static void call(const char* name, const void* parameters, int site = 0, const char* symbol = nullptr,
                   std::uint32_t correlation = 0) {
    const struct {
      int site;
      const char* name;
      const void* parameters;
      void* result;
      const char* symbol;
      void* context;
      std::uint32_t context_number;
      std::uint64_t* own_data;
      std::uint32_t correlation;
    } data{site, name, parameters, nullptr, symbol, nullptr, 0, nullptr, correlation};
    subscribed.callback(subscribed.user, kDriver, 1, &data);
  }

  Cupti cupti_{.subscribe = subscribe,
               .enable = enable,
               .name = name_of,
               .stream_create = stream_create,
               .stream_destroy = stream_destroy,
               .library = "libcupti.so"};
  int pipe_[2] = {-1, -1};
  Audit audit_;
};

TEST_F(AuditTest, enables_callbacks_of_the_relevant_functions_by_name) {
  begin();
  EXPECT_EQ(lines(), "on\tlibcupti.so\n");
  EXPECT_EQ(subscribed.enabled,
            (std::vector<std::string>{"cuStreamCreate", "cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch",
                                      "cuMemcpyAsync_ptsz", "cuCtxSetLimit", "cuMemcpyDtoH_v2", "cudaMemcpyAsync"}));
}

TEST_F(AuditTest, stop_launch_reports_disables_launches_and_nothing_else) {
  audit_.stop_launch_reports();  // without a subscription this does nothing
  begin();
  audit_.stop_launch_reports();
  EXPECT_EQ(subscribed.disabled, (std::vector<std::string>{"cuLaunchKernel", "cuLaunchKernelEx"}));
}

int no_callbacks(CuptiActivity::Requested, CuptiActivity::Completed) {
  return 0;
}
int accept(int) {
  return 0;
}
int flush_nothing(std::uint32_t) {
  return 0;
}
int no_record(std::uint8_t*, std::size_t, void**) {
  return 12;
}
int wait_for_stream(void*) {
  return 0;
}
int is_idle(void* stream) {
  return stream == reinterpret_cast<void*>(0x10) ? 600 : 0;
}

TEST_F(AuditTest, only_the_first_launches_of_graphs_are_noted) {
  begin();
  lines();
  for (int i = 0; i < kGraphLaunchNotesMax; ++i) call("cuGraphLaunch", nullptr);
  EXPECT_TRUE(lines().starts_with("api\tcuGraphLaunch\t"));
  call("cudaGraphLaunch", nullptr);
  EXPECT_EQ(lines(), "") << "the origin takes time, of which a timed call would have to pay for each launch";
  call("cudaGraphLaunch_ptsz", nullptr);
  EXPECT_TRUE(lines().starts_with("api\tcudaGraphLaunch_ptsz\t")) << "it is a launch on another stream";
  call("cuGraphInstantiateWithFlags", nullptr);
  EXPECT_TRUE(lines().starts_with("api\tcuGraphInstantiateWithFlags\t"));
}

TEST_F(AuditTest, a_watched_call_reports_launches_and_streams_with_unfinished_work) {
  cupti_.activity = {no_callbacks, accept, accept, flush_nothing, no_record};
  cupti_.stream_synchronize = wait_for_stream;
  cupti_.stream_query = is_idle;
  begin();
  audit_.stop_launch_reports();
  struct {
    void* context;
    void* stream;
  } made{nullptr, reinterpret_cast<void*>(0x10)}, other{nullptr, reinterpret_cast<void*>(0x20)};
  resource(kStreamCreated, &made);
  resource(kStreamCreated, &other);
  lines();
  subscribed.enabled.clear();
  subscribed.disabled.clear();
  audit_.begin_watch();
  EXPECT_EQ(subscribed.enabled, (std::vector<std::string>{"cuLaunchKernel", "cuLaunchKernelEx"}));
  call("cuLaunchKernel", nullptr, 0, "relu", 5);
  audit_.end_watch();
  EXPECT_EQ(subscribed.disabled, subscribed.enabled);
  const std::string said = lines();
  EXPECT_EQ(said.substr(0, 11), "unjoined\t-\t") << said;
  EXPECT_TRUE(said.ends_with("\nwatched\t0\t0\n")) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  resource(4, &made);  // is destroyed
  audit_.begin_watch();
  audit_.end_watch();
  EXPECT_EQ(lines(), "watched\t0\t0\n");
}

TEST_F(AuditTest, without_activity_records_no_call_is_watched) {
  begin();
  lines();
  audit_.begin_watch();
  audit_.end_watch();
  EXPECT_EQ(lines(), "");
}

TEST_F(AuditTest, says_why_it_cannot_subscribe) {
  cupti_.subscribe = subscribe_too_late;
  begin();
  EXPECT_EQ(lines(), "off\tcuptiSubscribe failed with 39\n");
  audit_.poll();
  EXPECT_EQ(lines(), "");
}

TEST_F(AuditTest, a_stream_is_reported_with_its_flags_and_the_modules_that_created_it) {
  begin();
  lines();
  struct {
    void** stream;
    unsigned flags;
  } parameters{nullptr, 1};
  call("cuStreamCreate", &parameters, 0);
  resource(kStreamCreated);
  call("cuStreamCreate", &parameters, 1);
  const std::string said = lines();
  EXPECT_EQ(said.substr(0, 11), "stream\t0x1\t") << said;
  EXPECT_NE(said.find("audit_test"), said.npos) << said;  // this program: its code is on the stack
  resource(kStreamCreated);
  EXPECT_EQ(lines().substr(0, 9), "stream\t?\t");
}

TEST_F(AuditTest, equal_lines_are_written_once_and_the_output_is_bounded) {
  begin();
  lines();
  for (int i = 0; i < 128; ++i) resource(kStreamCreated);
  const std::string said = lines();
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "cuGraphInstantiate" + std::to_string(i) + std::string(2000, 'x');
    call(name.c_str(), nullptr);
  }
  const std::string more = lines();
  EXPECT_LE(more.size(), kAuditLinesMax * (kAuditLineBytesMax + 1));
  EXPECT_TRUE(more.ends_with("\nmore\n")) << more.substr(more.size() - 200);
}

TEST_F(AuditTest, deferring_and_persisting_calls_are_reported_and_honest_launches_are_not) {
  begin();
  lines();
  struct {
    void* function;
    unsigned sizes[7];
    std::uint64_t stream;
  } launch{nullptr, {}, 0};
  call("cuLaunchKernel", &launch);
  launch.stream = 0x7F00'0000'1000;
  call("cuLaunchKernel", &launch);
  const int stack_limit[] = {0, 0, 4096};
  call("cuCtxSetLimit", stack_limit);
  EXPECT_EQ(lines(), "");
  launch.stream = 2;
  call("cuLaunchKernel", &launch);
  EXPECT_EQ(lines().substr(0, 44), "api\tcuLaunchKernel on the per-thread stream\t");
  struct {
    unsigned sizes[7];
    std::uint64_t stream;
  } config{{}, 2};
  const void* extended = &config;
  call("cuLaunchKernelEx", &extended);
  EXPECT_EQ(lines().substr(0, 46), "api\tcuLaunchKernelEx on the per-thread stream\t");
  call("cuMemcpyAsync_ptsz", nullptr);
  EXPECT_EQ(lines().substr(0, 23), "api\tcuMemcpyAsync_ptsz\t");
  const int persisting_limit[] = {6, 0, 1 << 20};
  call("cuCtxSetLimit", persisting_limit);
  EXPECT_EQ(lines().substr(0, 8), "persist\t");
  struct {
    void* stream;
    int attribute;
  } changed{nullptr, 3};
  resource(kAttributeChanged, &changed);
  EXPECT_EQ(lines(), "");
  changed.attribute = 1;
  resource(kAttributeChanged, &changed);
  EXPECT_EQ(lines().substr(0, 29), "persist\taccess policy window\t");
  resource(kContextCreated);
  EXPECT_EQ(lines().substr(0, 10), "context\t-\t");
}

// The channel tells the audit when the child waits: from an answer until the clock of the next call starts.
TEST_F(AuditTest, copies_are_reported_while_the_child_waits) {
  begin();
  lines();
  const auto page = std::make_unique<channel::Page>();
  call("cuMemcpyDtoH_v2", nullptr);
  EXPECT_EQ(lines(), "") << "the child has not answered yet";
  kq_post_done(page.get(), 1);
  call("cuMemcpyDtoH_v2", nullptr);
  call("cuMemcpyDtoH_v2", nullptr, 1);
  EXPECT_EQ(lines().substr(0, 24), "waiting\tcuMemcpyDtoH_v2\t");
  call("cudaMemcpyAsync", nullptr);
  EXPECT_EQ(lines().substr(0, 24), "waiting\tcudaMemcpyAsync\t");
  call("cuGraphLaunch", nullptr);
  EXPECT_EQ(lines().substr(0, 22), "waiting\tcuGraphLaunch\t");
  page->go = 1;
  ASSERT_EQ(kq_wait_go(page.get(), 0, 1'000'000'000), 1);
  call("cuMemcpyDtoHAsync_v2", nullptr);
  EXPECT_EQ(lines().substr(0, 29), "waiting\tcuMemcpyDtoHAsync_v2\t") << "between `go` and the clock";
  kq_begin(page.get());
  call("cuMemcpyHtoD_v2", nullptr);
  EXPECT_EQ(lines(), "");
}

TEST_F(AuditTest, poll_says_whether_its_own_stream_was_reported) {
  begin();
  lines();
  audit_.poll();
  audit_.poll();
  subscribed.is_deaf = true;
  audit_.poll();
  EXPECT_EQ(lines(), "heard\nheard\nsilent\n");
}

TEST(Audit, without_a_driver_the_first_line_says_so) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  kq_audit_begin(pipe[1]);
  char text[200] = "";
  ASSERT_GT(::read(pipe[0], text, sizeof text - 1), 0);
  EXPECT_TRUE(std::string(text).starts_with("off\t") || std::string(text).starts_with("on\t")) << text;
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace kq::runtime
