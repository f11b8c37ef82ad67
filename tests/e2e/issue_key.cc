// issue_key DIR ROLE NAME FILE: issues a key for the end-to-end tests, with the function that kq-ctl keygen calls.
#include <cstdio>

#include "net/zmq/keys.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto role = kq::parse_enum<kq::Role>(argv[2]);
  if (!role) return 2;
  const auto key = kq::net::issue_key(argv[1], {argv[3], *role}, argv[4]);
  if (!key) std::fprintf(stderr, "issue_key: %s\n", key.error().message.c_str());
  return key ? 0 : 2;
}
