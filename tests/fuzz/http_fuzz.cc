// Fuzzes the readers of HTTP from clients of kq-gateway: heads, chunked bodies in any pieces, and ids of jobs.
#include <algorithm>

#include "core/base/check.h"
#include "net/http/chunks.h"
#include "net/http/head.h"
#include "producer/gateway/job_id.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr std::size_t kBodyBytesMax = 4'096;

void check_head(std::string_view text) {
  const auto parsed = net::parse_head(text);
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

// The pieces in which a body arrives must not matter.
void check_chunks(std::string_view coded) {
  net::ChunkDecoder whole, split;
  std::string body, same;
  const std::size_t used = whole.take(coded, body, kBodyBytesMax);
  std::size_t split_used = 0;
  for (const char c : coded.substr(0, used)) split_used += split.take({&c, 1}, same, kBodyBytesMax);
  KQ_CHECK(split_used == used && body == same && body.size() <= kBodyBytesMax);
  KQ_CHECK(whole.is_complete() == split.is_complete() && whole.is_malformed() == split.is_malformed());
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
