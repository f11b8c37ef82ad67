// kq-launcher: a submission child without Python. The zygote's child has built the walls (harness/children/child.py)
// and becomes this program; all that is left of the submission is device code that its build has made.
//
//   kq-launcher SOURCE [--profiled]      with the channel socket at descriptor 3; SOURCE holds launch and module.cubin
//
// Under a profiler, which has calls of its own to make, only the walls hold it. Else
// the order matters: the context is made with the calls that a driver needs for it, and before a byte of the build is
// read the few that launching takes are all that is left. It asks before it makes one, says that it is warm, and waits
// for its job (gpu_worker/lane/children.h). Exit codes: 0 the judge is gone, 2 usage, 3 no page came or no filter could
// be had.
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
      gpu && !(*gpu)->is_short() ? "warm" : "cold");  // what is wrong is the answer to every command
  const auto few = is_profiled ? kq::Expected<void>() : kq::launcher::allow_few_system_calls();
  if (!few) return end_with(3, few.error().message.c_str());
  kq::channel::Page* const page = kq::launcher::receive_page(kChannel);
  if (page == nullptr) return end_with(3, "no page came, or one of another layout");
  // From here on what a submission has built is read.
  kq::launcher::Server(std::move(gpu), *page, kChannel, argv[1]).run();
  return 0;
}
