#include "tests/gpu/gpu_child.h"

#include <poll.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <string_view>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/cuda_driver.h"
#include "sys/fd.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Page;
using cuda::kSuccess;

constexpr int kSocket = 3;
constexpr std::uint32_t kLooksPerPoll = 1 << 20;

// A kernel of one thread that reads the GPU's clock until its time is over, then writes a word.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 at, .param .u64 nanoseconds)
{
  .reg .pred %more;
  .reg .b32 %one;
  .reg .b64 %address, %limit, %start, %now, %passed;
  ld.param.u64 %address, [at];
  ld.param.u64 %limit, [nanoseconds];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %start;
  setp.lt.u64 %more, %passed, %limit;
  @%more bra again;
  mov.u32 %one, 1;
  st.global.u32 [%address], %one;
  ret;
}
)";

class GpuChild {
 public:
  bool open() {
    auto driver = cuda::open_driver();
    if (!driver) return false;
    driver_ = *driver;
    cuda::Context context = nullptr;
    cuda::Module module = nullptr;
    return driver_.init(0) == kSuccess && driver_.device_get(&device_, 0) == kSuccess &&
           driver_.context_flags(device_, cuda::kScheduleSpin) == kSuccess &&
           driver_.context_retain(&context, device_) == kSuccess && driver_.context_set_current(context) == kSuccess &&
           driver_.allocate(&word_, 256) == kSuccess && driver_.module_load(&module, kPtx) == kSuccess &&
           driver_.module_function(&spin_, module, "spin") == kSuccess && launch(word_, 0) &&
           driver_.synchronize() == kSuccess;
  }

  int serve() {
    Page* const page = receive_page();
    if (page == nullptr) return 1;
    for (std::uint32_t n = 1;; ++n) {
      for (std::uint32_t look = 0; std::atomic_ref(page->go).load(std::memory_order_acquire) != n; ++look) {
        if (look % kLooksPerPoll == 0 && is_judge_gone()) return 0;
      }
      launched_ = &page->launched;
      done_ = &page->done;
      n_ = n;
      page->text_bytes = 0;
      page->failure = channel::Failure::none;
      page->status = handle(*page) ? channel::Status::ok : channel::Status::failed;
      say_done();
    }
  }

 private:
  bool handle(Page& page) {
    switch (page.command) {
      case Command::attach:
        return attach(page.window_bytes);
      case Command::null_call:
        return launch(word_, 0) && driver_.synchronize() == kSuccess;
      case Command::call:
        return call(page);
      default:
        return true;
    }
  }

  bool call(Page& page) {
    const auto spin_ns = static_cast<std::uint32_t>(page.seed);
    switch (static_cast<GpuAct>(page.seed >> 32)) {
      case GpuAct::spin:
        break;
      case GpuAct::spin_early: {
        const bool launched = launch(word_, spin_ns);
        page.status = channel::Status::ok;
        say_done();
        driver_.synchronize();
        return launched;
      }
      case GpuAct::late: {
        page.status = channel::Status::ok;
        const cuda::Pointer output = window_ + page.outputs[0].offset;
        say_done();
        spin_on_host(spin_ns);
        return launch(output, 0) && driver_.synchronize() == kSuccess;
      }
      case GpuAct::leave:
        page.status = channel::Status::ok;
        say_done();
        return launch(word_, spin_ns);
      case GpuAct::copy:
        driver_.copy(window_ + page.outputs[0].offset, window_ + page.inputs[0].offset, page.inputs[0].bytes);
        return driver_.synchronize() == kSuccess;
      case GpuAct::slowly:
        spin_on_host(kSlowlyNs);
        break;
      case GpuAct::fault:
        return launch(16, 0) && driver_.synchronize() == kSuccess;
    }
    return launch(word_, spin_ns) && driver_.synchronize() == kSuccess;
  }

  static void spin_on_host(std::uint32_t ns) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
    while (std::chrono::steady_clock::now() < until) {
    }
  }

  bool launch(cuda::Pointer at, std::uint64_t spin_ns) {
    void* parameters[] = {&at, &spin_ns};
    const bool is_launched = driver_.launch(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) == kSuccess;
    if (launched_ != nullptr) std::atomic_ref(*launched_).store(n_, std::memory_order_release);
    return is_launched;
  }

  bool attach(std::uint64_t bytes) {
    const sys::Fd file = receive('W');
    cuda::Allocation allocation = 0;
    const cuda::AccessDescription access{{cuda::kOnDevice, device_}, cuda::kReadWrite};
    return file &&
           driver_.memory_import(&allocation, reinterpret_cast<void*>(static_cast<std::intptr_t>(file.get())),
                                 cuda::kPosixFileDescriptor) == kSuccess &&
           driver_.address_reserve(&window_, bytes, 0, 0, 0) == kSuccess &&
           driver_.memory_map(window_, bytes, 0, allocation, 0) == kSuccess &&
           driver_.set_access(window_, bytes, &access, 1) == kSuccess;
  }

  Page* receive_page() {
    const sys::Fd file = receive('P');
    void* const at =
        file ? ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
    return at == MAP_FAILED ? nullptr : static_cast<Page*>(at);
  }

  static bool is_judge_gone() {
    pollfd socket{kSocket, 0, 0};
    return ::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0;
  }

  static sys::Fd receive(char byte) {
    auto packet = sys::receive_packet(kSocket, 60'000);
    if (!packet || !*packet || (*packet)->bytes != std::string_view(&byte, 1) || (*packet)->fds.size() != 1)
      return sys::Fd();
    return std::move((*packet)->fds[0]);
  }

  // In these tests the judge spins, or wakes up by itself within its time slice, so there is no futex call to measure.
  void say_done() { std::atomic_ref(*done_).store(n_, std::memory_order_release); }

  cuda::Driver driver_{};
  cuda::Ordinal device_ = 0;
  cuda::Function spin_ = nullptr;
  cuda::Pointer word_ = 0;
  cuda::Pointer window_ = 0;
  std::uint32_t* launched_ = nullptr;  // null until the child serves
  std::uint32_t* done_ = nullptr;
  std::uint32_t n_ = 0;
};

}  // namespace

int run_gpu_child() {
  GpuChild child;
  return child.open() ? child.serve() : 1;
}

}  // namespace kq::judge
