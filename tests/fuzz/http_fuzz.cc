// Fuzzes the readers of HTTP from clients of kq-gateway: heads, chunked bodies in any pieces, and ids of jobs.
#include <algorithm>

#include "core/base/check.h"
#include "net/http/parser.h"
#include "producer/gateway/job_id.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr std::size_t kBodyBytesMax = 4'096;

void check_head(std::string_view text) {
  const auto parsed = net::HttpParser().take_head(text);
  if (const auto* fault = std::get_if<net::HttpFault>(&parsed)) {
    KQ_CHECK(fault->status >= 400 && !fault->sentence.empty() && fault->sentence.find('\n') == std::string::npos);
    return;
  }
  const auto& head = std::get<net::HttpHead>(parsed);
  KQ_CHECK(head.request.path.starts_with('/') && head.request.path.size() <= net::kHttpTargetBytesMax);
  KQ_CHECK(net::percent_decoded(head.request.path).has_value());
  KQ_CHECK(!(head.is_chunked && head.content_length));
  for (const auto& [name, value] : head.request.headers)
    KQ_CHECK(!name.empty() && value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
}

// The pieces in which a body arrives must not matter, though a malformed one may be noticed sooner in pieces.
// Extensions and trailers near their limit may differ.
void check_chunks(std::string_view coded) {
  using State = net::HttpParser::BodyState;
  net::HttpParser whole, split;
  for (net::HttpParser* parser : {&whole, &split})
    KQ_CHECK(std::holds_alternative<net::HttpHead>(
        parser->take_head("POST / HTTP/1.1\r\nHost: kq\r\nTransfer-Encoding: chunked")));
  std::string left(coded), body, split_left, same;
  const State state = whole.take_chunks(left, body, kBodyBytesMax);
  KQ_CHECK(body.size() <= kBodyBytesMax);
  State split_state = State::partial;
  std::size_t used = 0;
  while (used < coded.size() && split_state == State::partial)
    split_state = split.take_chunks(split_left.append(1, coded[used++]), same, kBodyBytesMax);
  if (coded.size() > std::min(kBodyBytesMax, net::kChunkOverheadBytesMax)) return;
  KQ_CHECK((state == State::complete) == (split_state == State::complete));
  if (state == State::complete) KQ_CHECK(body == same && left == coded.substr(used) && split_left.empty());
}

void check_id(std::string_view text) {
  const auto id = gateway::JobId::parse(text);
  KQ_CHECK(id ? id->text() == text : id.error().kind == ErrorKind::not_found);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_head(text);
  check_chunks(text);
  check_id(text);
  return 0;
}
