// The tests send the launcher commands through a real page and socket. A fake GPU in host memory replaces the driver.
#include "gpu_worker/child/launcher/serve.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/child/runtime/runtime.h"
#include "sys/fd.h"

namespace kq::launcher {
namespace {

namespace fs = std::filesystem;
using channel::Command;
using channel::Failure;
using channel::Status;

// A fake GPU: its memory is host memory, and its kernel writes 7 to the address in its last argument.
class HostGpu : public Gpu {
 public:
  explicit HostGpu(std::vector<std::string>& did) : did_(did) {}
  Outcome<std::uint64_t> map(int fd, std::uint64_t bytes) override {
    did_.push_back("map");
    return reinterpret_cast<std::uint64_t>(kq_map_shared(fd, bytes));
  }
  Outcome<void> unmap(std::uint64_t address, std::uint64_t bytes) override {
    did_.push_back("unmap");
    kq_unmap_shared(reinterpret_cast<void*>(address), bytes);
    return {};
  }
  Outcome<void> load(std::string_view cubin, const LaunchPlan& plan) override {
    did_.push_back("load " + std::string(cubin) + " " + plan.kernel);
    if (cubin == "broken")
      return tl::unexpected(Fault{Failure::runtime_error, "CUDA error: invalid image (200), loading the module"});
    return {};
  }
  Outcome<void> copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return {};
  }
  Outcome<void> launch(const LaunchPlan& plan, void** parameters) override {
    did_.push_back("launch");
    **static_cast<int**>(parameters[plan.args.size() - 1]) = 7;
    return {};
  }
  Outcome<void> write(std::uint64_t, std::uint64_t bytes) override {
    did_.push_back("write " + std::to_string(bytes));
    return {};
  }
  Outcome<void> write_own(std::uint64_t bytes) override {
    did_.push_back("write own " + std::to_string(bytes));
    return {};
  }
  Outcome<void> synchronize() override {
    if (fails_)
      return tl::unexpected(
          Fault{Failure::gpu_fault, "CUDA error: an illegal memory access was encountered (700), waiting"});
    return {};
  }
  void fail() { fails_ = true; }

 private:
  std::vector<std::string>& did_;
  bool fails_ = false;
};

class ServeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_ = fs::temp_directory_path() / ("kq-launcher-" + std::to_string(::getpid()));
    fs::create_directories(source_);
    write("launch",
          "kernel\tk\ngrid\t1\t1\t1\nblock\t1\t1\t1\nshared\t0\narg\tx\ttensor\tinput\tint32\t4\t-"
          "\narg\tout\ttensor\toutput\t-\t-\t-\n");
    write("module.cubin", "cubin");
    auto ends = std::move(*sys::packet_pair());
    ours_ = std::move(ends.first);
    theirs_ = std::move(ends.second);
    page_ = static_cast<channel::Page*>(
        ::mmap(nullptr, sizeof(channel::Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    row(page_->inputs[0], "x", 0);
    row(page_->outputs[0], "out0", 256);
    page_->input_count = page_->output_count = 1;
    window_ = sys::Fd(::memfd_create("window", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(window_.get(), 4096), 0);
    page_->window_bytes = 4096;
  }
  void TearDown() override {
    ::munmap(page_, sizeof(channel::Page));
    fs::remove_all(source_);
  }
  void write(const char* name, const std::string& text) { std::ofstream(source_ / name) << text; }
  static void row(channel::TensorDesc& desc, const char* name, std::uint64_t offset) {
    std::strncpy(desc.name, name, sizeof desc.name - 1);
    desc.kind = channel::Kind::tensor;
    desc.dtype = channel::Dtype::int32;
    desc.ndim = 1;
    desc.shape[0] = 4;
    desc.bytes = 16;
    desc.offset = offset;
  }
  Server server() {
    auto gpu = std::make_unique<HostGpu>(did_);
    gpu_ = gpu.get();
    return Server(Outcome<std::unique_ptr<Gpu>>(std::move(gpu)), *page_, theirs_.get(), source_);
  }
  std::string answer(Server& server, Command command) {
    if (command == Command::attach) {
      const int fd = window_.get();
      (void)sys::send_packet(ours_.get(), "W", std::span(&fd, 1));
    }
    server.answer(command, 1);
    return page_->status == Status::ok
               ? "ok"
               : std::to_string(static_cast<int>(page_->failure)) + " " + std::string(page_->text, page_->text_bytes);
  }
  int output() {
    int value = 0;
    (void)!::pread(window_.get(), &value, sizeof value, 256);
    return value;
  }

  fs::path source_;
  sys::Fd ours_, theirs_, window_;
  channel::Page* page_ = nullptr;
  HostGpu* gpu_ = nullptr;
  std::vector<std::string> did_;
};

TEST_F(ServeTest, a_kernel_is_loaded_once_and_launched_with_every_call) {
  Server server = this->server();
  page_->touch_bytes = 4000;
  for (const Command command :
       {Command::attach, Command::null_call, Command::load, Command::stage, Command::call, Command::call}) {
    ASSERT_EQ(answer(server, command), "ok") << static_cast<int>(command);
  }
  EXPECT_EQ(output(), 7);
  EXPECT_EQ(did_, (std::vector<std::string>{"map", "write 4000", "load cubin k", "launch", "launch"}));
  EXPECT_EQ(answer(server, Command::attach), "ok");
  EXPECT_EQ(did_.back(), "map");
  EXPECT_EQ(did_[did_.size() - 2], "unmap");
}

TEST_F(ServeTest, a_null_call_allocates_memory_if_the_window_is_too_small) {
  Server server = this->server();
  page_->touch_bytes = 4097;
  EXPECT_EQ(answer(server, Command::null_call), "ok");
  EXPECT_EQ(answer(server, Command::attach), "ok");
  EXPECT_EQ(answer(server, Command::null_call), "ok");
  EXPECT_EQ(did_, (std::vector<std::string>{"write own 4097", "map", "write own 4097"}));
}

TEST_F(ServeTest, a_failure_is_reported_with_its_kind) {
  Server server = this->server();
  EXPECT_EQ(answer(server, Command::call), "2 nothing is loaded yet");
  EXPECT_EQ(answer(server, Command::put_state), "2 a launcher knows no command 4");
  write("module.cubin", "broken");
  EXPECT_EQ(answer(server, Command::load), "1 CUDA error: invalid image (200), loading the module");
  page_->output_count = 0;
  EXPECT_EQ(answer(server, Command::load), "1 the kernel has 1 output and 0 inout tensors, the reference returns 0");
  fs::remove(source_ / "launch");
  EXPECT_EQ(answer(server, Command::load), "1 the build left no usable launch");
}

TEST_F(ServeTest, a_fault_while_waiting_fails_the_call) {
  Server server = this->server();
  answer(server, Command::attach);
  answer(server, Command::load);
  gpu_->fail();
  EXPECT_EQ(answer(server, Command::call), "5 CUDA error: an illegal memory access was encountered (700), waiting");
}

TEST_F(ServeTest, without_a_gpu_every_answer_is_that_fault) {
  Server server(tl::unexpected(Fault{Failure::unsupported_here, "no driver"}), *page_, theirs_.get(), source_);
  EXPECT_EQ(answer(server, Command::null_call), "6 no driver");
}

TEST_F(ServeTest, descriptors_with_other_tags_are_closed) {
  Server server = this->server();
  const int fd = window_.get();
  (void)sys::send_packet(ours_.get(), "A", std::span(&fd, 1));
  EXPECT_EQ(answer(server, Command::attach), "ok");
}

TEST_F(ServeTest, serves_until_the_judge_is_gone) {
  Server server = this->server();
  std::thread judge([&] {
    page_->command = Command::null_call;
    std::atomic_ref(page_->go).store(1, std::memory_order_release);
    while (std::atomic_ref(page_->done).load(std::memory_order_acquire) != 1) std::this_thread::yield();
    ours_ = sys::Fd();
  });
  server.run(5'000'000);
  judge.join();
  EXPECT_EQ(page_->status, Status::ok);
}

TEST_F(ServeTest, a_page_of_another_layout_is_refused) {
  const sys::Fd page(::memfd_create("page", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(page.get(), sizeof(channel::Page)), 0);
  const int fd = page.get();
  (void)sys::send_packet(ours_.get(), "P", std::span(&fd, 1));
  EXPECT_EQ(receive_page(theirs_.get()), nullptr);
  const std::uint32_t head[2] = {channel::kMagic, sizeof(channel::Page)};
  ASSERT_EQ(::pwrite(page.get(), head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  (void)sys::send_packet(ours_.get(), "P", std::span(&fd, 1));
  EXPECT_NE(receive_page(theirs_.get()), nullptr);
}

}  // namespace
}  // namespace kq::launcher
