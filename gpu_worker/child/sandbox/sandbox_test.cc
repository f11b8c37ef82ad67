// Tests of suite Sandbox run with the uid of the test. Tests of suite Both run as an ordinary user, and as root if the
// test runs as root.
#include "gpu_worker/child/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpu_worker/child/sandbox/sandboxed.h"

namespace kq::sandbox {
namespace {

bool is_root() {
  return ::geteuid() == 0;
}

std::string line_of(const char* path, const std::string& name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name + ":")) return line;
  }
  return name + ": none";
}

class Both : public testing::TestWithParam<bool> {
 protected:
  std::string run(const std::function<std::string()>& job, std::uint32_t device_count = 1) {
    const Sandboxed result = sandbox::run({.uid = kTestUid,
                                           .wanted = kAllLayers,
                                           .host_bytes = 64u << 20,
                                           .view = kTestView,
                                           .device_count = device_count},
                                          GetParam(), job);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.end, "exit 0");
    layers_ = result.layers;
    return result.said;
  }
  Layers layers_ = 0;
};

INSTANTIATE_TEST_SUITE_P(As, Both, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "root" : "ordinary_user"; });

TEST_P(Both, every_layer_is_in_force) {
  run([] { return std::string(); });
  Layers expected = GetParam() && is_root() ? kAllLayers : kAllLayers & ~Layers{kUid};
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) < 0) expected &= ~Layers{kLandlock};
  EXPECT_EQ(to_string(layers_), to_string(expected));
}

TEST_P(Both, has_a_uid_that_no_host_process_has) {
  const std::string said =
      run([] { return std::to_string(::geteuid()) + " " + std::to_string(::getgroups(0, nullptr)); });
  if (GetParam() && is_root()) {
    EXPECT_EQ(said, std::to_string(kTestUid) + " 0");
  } else {
    EXPECT_NE(said.substr(0, 2), "0 ");
  }
}

TEST_P(Both, has_no_capability_and_cannot_get_one) {
  EXPECT_EQ(run([] {
              return line_of("/proc/self/status", "CapEff") + line_of("/proc/self/status", "CapPrm") +
                     line_of("/proc/self/status", "NoNewPrivs");
            }),
            "CapEff:\t0000000000000000CapPrm:\t0000000000000000NoNewPrivs:\t1");
  EXPECT_EQ(run([] { return std::string(::unshare(CLONE_NEWUSER) == 0 ? "made a user namespace" : "no"); }), "no");
  EXPECT_EQ(run([] { return std::string(::mount("x", "/tmp", "tmpfs", 0, nullptr) == 0 ? "mounted" : "no"); }), "no");
}

TEST_P(Both, sees_no_process_of_the_host) {
  const std::string said = run([] {
    std::string pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") == std::string::npos) pids += name + " ";
    }
    return pids;
  });
  EXPECT_EQ(said, "1 2 ");
}

TEST_P(Both, cannot_inspect_its_supervisor_but_can_inspect_itself) {
  EXPECT_EQ(run([] {
              return std::string(std::ifstream("/proc/1/environ") ? "environ " : "") +
                     (std::ifstream("/proc/1/maps").get() != EOF ? "maps " : "") +
                     (::access("/proc/1/fd/0", F_OK) == 0 ? "fd " : "") +
                     (std::ifstream("/proc/self/maps").get() != EOF ? "self" : "");
            }),
            "self");
}

TEST_P(Both, has_no_network_interface_but_a_loopback_that_is_down) {
  EXPECT_EQ(run([] {
              std::string names;
              const int any = ::socket(AF_INET, SOCK_DGRAM, 0);
              std::ifstream devices("/proc/net/dev");
              for (std::string line; std::getline(devices, line);) {
                const std::size_t colon = line.find(':');
                if (colon == std::string::npos) continue;  // a heading
                const std::string name = line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' '));
                ifreq request{};
                std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
                const bool is_up = ::ioctl(any, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
                names += name + (is_up ? "+" : "-");
              }
              return names;
            }),
            "lo-");
}

// Returns what a process can do that looks for its interface and talks to another one over TCP.
std::string network_abilities() {
  std::string can;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) == 0) {
    for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET) can += std::string(one->ifa_name) + " ";
    }
    ::freeifaddrs(found);
  }
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0), calling = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening, any, size) == 0 && ::listen(listening, 1) == 0 && ::getsockname(listening, any, &size) == 0 &&
      ::connect(calling, any, size) == 0)
    can += "tcp ";
  if (::socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT) >= 0) can += "uevents ";
  if (::socket(AF_PACKET, SOCK_RAW, 0) >= 0) can += "packets ";
  return can;
}

TEST_P(Both, with_several_devices_its_processes_may_talk_over_the_loopback) {
  EXPECT_EQ(run(network_abilities), "");
  EXPECT_EQ(run(network_abilities, 2), "lo tcp ");
}

TEST_P(Both, has_the_host_name_kq) {
  EXPECT_EQ(run([] {
              char name[64] = "";
              ::gethostname(name, sizeof name);
              return std::string(name);
            }),
            "kq");
}

TEST_P(Both, is_under_resource_limits) {
  const std::string said = run([] {
    rlimit core{}, files{}, size{}, processes{};
    ::getrlimit(RLIMIT_CORE, &core);
    ::getrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_FSIZE, &size);
    ::getrlimit(RLIMIT_NPROC, &processes);
    // Memory within the limit can be allocated and memory beyond it cannot.
    void* some = ::malloc(32u << 20);
    void* more = ::malloc(48u << 20);
    return std::to_string(core.rlim_max) + " " + std::to_string(files.rlim_max) + " " + std::to_string(size.rlim_max) +
           " " + (some != nullptr ? "some " : "") + (more != nullptr ? "more " : "") +
           (processes.rlim_max <= kProcessesMax ? "few" : "many");
  });
  EXPECT_EQ(said.substr(0, said.rfind(' ')), "0 1024 1073741824 some");
  if (GetParam() && is_root()) {
    EXPECT_EQ(said.substr(said.rfind(' ') + 1), "few");
  }
}

TEST(Sandbox, resource_limits_work_without_any_other_layer) {
  const Sandboxed result =
      run({.uid = 0, .wanted = kRlimits, .host_bytes = 64u << 20, .view = {}}, true, [] { return std::string("ran"); });
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.said, "ran");
  EXPECT_EQ(to_string(result.layers), "rlimits");
}

TEST(Sandbox, without_a_network_namespace_several_devices_give_no_tcp) {
  const Sandboxed result = run({.uid = kTestUid,
                                .wanted = kAllLayers & ~Layers{kNet},
                                .host_bytes = 64u << 20,
                                .view = kTestView,
                                .device_count = 2},
                               true, network_abilities);
  if ((result.layers & kLandlock) == 0) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.said.find("tcp"), std::string::npos) << result.said;
}

TEST(Sandbox, each_layer_can_be_left_out) {
  for (Layers layer = kUid; layer <= kSeccomp; layer = static_cast<Layers>(layer << 1)) {
    if (layer == kRlimits) continue;  // always in force
    const Sandboxed result =
        run({.uid = kTestUid, .wanted = kAllLayers & ~layer, .host_bytes = 64u << 20, .view = kTestView}, true,
            [] { return std::string("ran"); });
    EXPECT_EQ(result.error, "") << to_string(layer);
    EXPECT_EQ(result.said, "ran") << to_string(layer);
    EXPECT_EQ(result.layers & layer, 0u) << to_string(layer);
  }
}

TEST(Sandbox, layers_have_these_names) {
  EXPECT_EQ(to_string(kAllLayers), "uid,user,pid,mount,ipc,net,uts,rlimits,landlock,seccomp");
}

}  // namespace
}  // namespace kq::sandbox
