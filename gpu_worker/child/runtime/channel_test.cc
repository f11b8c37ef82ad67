#include "gpu_worker/channel/channel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

constexpr std::int64_t kLongNs = 60'000'000'000;

std::unique_ptr<channel::Page> new_page(std::uint64_t spin_ns) {
  auto page = std::make_unique<channel::Page>();
  page->spin_ns = spin_ns;
  return page;
}

TEST(Layout, of_a_field_is_found_by_its_name) {
  EXPECT_EQ(kq_layout("Page.go"), 8);
  EXPECT_EQ(kq_layout("Page.done"), 64);
  EXPECT_EQ(kq_layout("sizeof TensorDesc"), 264);
  EXPECT_EQ(kq_layout("Page.nonsense"), -1);
}

TEST(WaitGo, returns_at_once_if_go_is_already_set) {
  const auto page = new_page(0);
  page->go = 1;
  EXPECT_EQ(kq_wait_go(page.get(), 0, kLongNs), 1);
}

TEST(WaitGo, returns_0_after_the_timeout) {
  EXPECT_EQ(kq_wait_go(new_page(0).get(), 0, 0), 0);
  EXPECT_EQ(kq_wait_go(new_page(kLongNs).get(), 0, 1'000'000), 0) << "spinning does not outlast the timeout";
}

// A `go` of another thread is seen both by a child that spins and by a child that sleeps on the futex.
TEST(WaitGo, go_of_another_thread_is_answered_with_done) {
  for (const std::uint64_t spin_ns : {std::uint64_t{0}, std::uint64_t{kLongNs}}) {
    const auto page = new_page(spin_ns);
    std::thread child([&] {
      for (std::uint32_t seen = 0; seen < 100; ++seen) {
        while (kq_wait_go(page.get(), seen, kLongNs) != 1) {
        }
        kq_post_done(page.get(), seen + 1);
      }
    });
    for (std::uint32_t n = 1; n <= 100; ++n) {
      std::atomic_ref<std::uint32_t>(page->go).store(n);
      ::syscall(SYS_futex, &page->go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
      while (std::atomic_ref<std::uint32_t>(page->done).load() != n) std::this_thread::yield();
    }
    child.join();
    EXPECT_EQ(page->done, 100u);
  }
}

}  // namespace
}  // namespace kq::runtime
