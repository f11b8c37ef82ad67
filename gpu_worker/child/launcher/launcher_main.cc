// kq-launcher: a submission child without Python. A child of the zygote enters the sandbox (harness/children/child.py)
// and executes this program. It runs no host code of the submission, only the device code that its build made.
//
//   kq-launcher SOURCE [--profiled]      with the channel socket at descriptor 3; SOURCE holds launch and module.cubin
//
// Theory of operation. The launcher asks for permission to create its CUDA context ("asks", answered with "go"),
// creates the context, reports that it is ready ("warm", or "cold" if it is not usable), and waits for its job
// (gpu_worker/lane/children.h). The order matters: the context needs many system calls, so the filter that leaves only
// the few which launching needs is installed after the context exists, and before the first byte of the build is read.
// Under a profiler, which makes further system calls, that filter is left out; the sandbox stays.
//
// Exit codes: 0 the judge is gone, 2 wrong usage, 3 no page arrived or the filter could not be installed.
#include <signal.h>

#include <cstdio>
#include <string_view>

#include "gpu_worker/child/launcher/allowed_calls.h"
#include "gpu_worker/child/launcher/serve.h"
#include "sys/fd.h"

namespace {

constexpr int kChannel = 3;
constexpr std::int64_t kNoLimit = -1;

int end_with(int code, const char* words) {
  std::fprintf(stderr, "kq-launcher: %s\n", words);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_profiled = argc == 3 && std::string_view(argv[2]) == "--profiled";
  if (argc != 2 && !is_profiled)
    return end_with(2, "usage: kq-launcher SOURCE [--profiled], with the channel socket at descriptor 3");
  ::signal(SIGPIPE, SIG_IGN);
  (void)kq::sys::send_packet(kChannel, "asks");
  (void)kq::sys::receive_packet(kChannel, kNoLimit);  // "go"
  auto gpu = kq::launcher::open_gpu();
  (void)kq::sys::send_packet(
      kChannel,
      gpu && !(*gpu)->is_short() ? "warm" : "cold");  // "cold": the failure is the answer to every command
  const auto few = is_profiled ? kq::Expected<void>() : kq::launcher::allow_few_system_calls();
  if (!few) return end_with(3, few.error().message.c_str());
  kq::channel::Page* const page = kq::launcher::receive_page(kChannel);
  if (page == nullptr) return end_with(3, "no page arrived, or a page of another layout");
  // From here on files that the submission's build made are read.
  kq::launcher::Server(std::move(gpu), *page, kChannel, argv[1]).run();
  return 0;
}
