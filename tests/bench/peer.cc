#include "tests/bench/peer.h"

#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Peer> (*make)(const Address&);
};
constexpr Row kPeers[] = {
    {"kq", make_kq}, {"beanstalkd", make_beanstalkd}, {"redis", make_redis}, {"rabbitmq", make_rabbitmq}};

}  // namespace

std::unique_ptr<Peer> make_peer(std::string_view name, const Address& address) {
  std::string known;
  for (const Row& row : kPeers) {
    if (row.name == name) return row.make(address);
    known.append(known.empty() ? "" : ", ").append(row.name);
  }
  give_up("unknown peer '" + std::string(name) + "', known are: " + known);
}

}  // namespace kq::bench
