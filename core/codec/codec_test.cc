#include "core/codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/testing/examples.h"

namespace kq {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// ---- msgpack bytes that kq's own encoder never writes ---------------------------------------------------------------

std::string str(std::string_view text) {
  return std::string{static_cast<char>(0xD9), static_cast<char>(text.size())}.append(text);
}
std::string map(std::initializer_list<std::pair<std::string_view, std::string>> items) {
  std::string bytes(1, static_cast<char>(0x80 | items.size()));
  for (const auto& [name, value] : items) bytes += str(name) + value;
  return bytes;
}
std::string array(std::initializer_list<std::string> items) {
  std::string bytes(1, static_cast<char>(0x90 | items.size()));
  for (const std::string& item : items) bytes += item;
  return bytes;
}
std::string big_endian(char type, std::uint64_t value, int width) {
  std::string bytes(1, type);
  for (int i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string u64(std::uint64_t value) {
  return big_endian('\xCF', value, 8);
}
std::string i64(std::int64_t value) {
  return big_endian('\xD3', static_cast<std::uint64_t>(value), 8);
}
std::string array_of(std::uint32_t declared) {
  return big_endian('\xDD', declared, 4);
}
std::string map_of(std::uint32_t declared) {
  return big_endian('\xDF', declared, 4);
}
const std::string kNil(1, '\xC0');
const std::string kTrue(1, '\xC3');
const std::string kOne(1, '\x01');

template <class T>
std::string refusal(std::string_view bytes) {
  const auto decoded = decode<T>(bytes);
  if (decoded) return "accepted";
  EXPECT_EQ(decoded.error().kind, ErrorKind::bad_input);
  return decoded.error().message;
}
template <class Body>
std::string message_refusal(std::string_view bytes) {
  const auto decoded = decode_message<Body>(bytes);
  if (decoded) return "accepted";
  EXPECT_EQ(decoded.error().kind, ErrorKind::bad_input);
  return decoded.error().message;
}

// ---- the examples say something about every field -------------------------------------------------------------------

template <class T>
void expect_set(const std::string& path, const T& value, const T& unset);

struct Addresses {
  std::vector<const void*> of;
  template <class T>
  void operator()(const char*, T& x) {
    of.push_back(&x);
  }
};
struct ExpectSet {
  const std::string& path;
  const std::vector<const void*>& unset;
  std::size_t i = 0;
  template <class T>
  void operator()(const char* name, T& x) {
    expect_set(path + "." + name, x, *static_cast<const T*>(unset[i++]));
  }
};

template <class T>
void expect_set(const std::string& path, const T& value, const T& unset) {
  if constexpr (requires(Addresses & addresses, T & x) { fields(addresses, x); }) {
    Addresses addresses;
    fields(addresses, const_cast<T&>(unset));
    ExpectSet each{path, addresses.of};
    fields(each, const_cast<T&>(value));
  } else if constexpr (requires { value.index(); }) {
    std::visit([&]<class U>(const U& body) { expect_set(path, body, U{}); }, value);
  } else if constexpr (requires { value.has_value(); }) {
    ASSERT_TRUE(value.has_value()) << path;
    expect_set(path, *value, typename T::value_type{});
  } else if constexpr (requires(T & x) { x.emplace_back(); }) {
    ASSERT_FALSE(value.empty()) << path;
    for (const auto& item : value) expect_set(path + "[]", item, typename T::value_type{});
  } else {
    EXPECT_FALSE(value == unset) << path << " has its default value";
  }
}

template <class Body>
void expect_all_set(const std::vector<Body>& bodies) {
  EXPECT_EQ(bodies.size(), std::variant_size_v<Body>);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(bodies[i].index(), i) << "one example per message, in their order";
    expect_set("message " + std::to_string(i), bodies[i], Body{});
  }
}

TEST(Examples, set_every_field_of_every_record_and_message) {
  expect_set("submission", examples::submission(), Submission{});
  expect_set("job", examples::job(), JobRecord{});
  for (const Verdict& verdict : {examples::passed(), examples::suspect(), examples::wrong_answer()}) {
    expect_set("result", examples::result(verdict), Result{});
  }
  expect_set("samples", examples::samples(), Samples{});
  expect_set("run_entry", examples::run_entry(), RunEntry{});
  expect_set("run_row", examples::run_row(), RunRow{});
  expect_set("leaderboard_row", examples::leaderboard_row(), LeaderboardRow{});
  expect_set("build_object", examples::build_object(), BuildObject{});
  expect_all_set(examples::client_requests());
  expect_all_set(examples::client_replies());
  expect_all_set(examples::worker_requests());
  expect_all_set(examples::worker_replies());
  expect_all_set(examples::judge_requests());
  expect_all_set(examples::judge_replies());
}

// ---- round trips ----------------------------------------------------------------------------------------------------

template <class T>
void expect_round_trip(const T& value) {
  const auto decoded = decode<T>(encode(value));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, value);
}

TEST(Codec, every_record_comes_back_as_it_was) {
  expect_round_trip(examples::submission());
  expect_round_trip(examples::job());
  for (const Verdict& verdict : {examples::passed(), examples::suspect(), examples::wrong_answer()}) {
    expect_round_trip(examples::result(verdict));
  }
  expect_round_trip(examples::samples());
  expect_round_trip(examples::run_entry());
  expect_round_trip(examples::run_row());
  expect_round_trip(examples::leaderboard_row());
  expect_round_trip(examples::build_object());
}

TEST(Codec, every_record_of_defaults_comes_back_as_it_was) {
  expect_round_trip(Submission{});
  expect_round_trip(JobRecord{});
  expect_round_trip(Result{});
  expect_round_trip(Samples{});
  expect_round_trip(RunEntry{});
  EXPECT_EQ(decode<RunEntry>(encode(ShortRunEntry{.seq = 7})).value(), (RunEntry{.seq = 7, .submission = {}}));
  expect_round_trip(RunRow{});
  expect_round_trip(LeaderboardRow{});
}

// Messages have no operator==, so the test compares their bytes. Each field of the examples differs from its default.
template <class Body>
void expect_messages_round_trip(const std::vector<Body>& bodies) {
  for (const Body& body : bodies) {
    const std::string bytes = encode_message(Message<Body>{77, body});
    const auto decoded = decode_message<Body>(bytes);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->request_id, 77u);
    EXPECT_EQ(decoded->body.index(), body.index());
    EXPECT_EQ(encode_message(*decoded), bytes);
  }
}

TEST(Codec, every_message_comes_back_as_it_was) {
  expect_messages_round_trip(examples::client_requests());
  expect_messages_round_trip(examples::client_replies());
  expect_messages_round_trip(examples::worker_requests());
  expect_messages_round_trip(examples::worker_replies());
  expect_messages_round_trip(examples::judge_requests());
  expect_messages_round_trip(examples::judge_replies());
}

TEST(Codec, message_size_bounds_the_bytes_and_counts_the_items) {
  const Result result = examples::result();
  RunReply reply;
  reply.rows.resize(1);
  reply.rows[0].result = result;
  const MessageSize row = message_size(reply.rows[0]);
  EXPECT_LE(encode_message<ClientReply>({1, reply}).size(), row.bytes + 64);
  EXPECT_LT(row.bytes, 2 * encode_message<ClientReply>({1, reply}).size());
  Result longer = result;
  longer.samples.submission_ns.resize(result.samples.submission_ns.size() + 5);
  EXPECT_EQ(message_size(longer).items, message_size(result).items + 5);
  longer.log += "a text is one item";
  EXPECT_EQ(message_size(longer).items, message_size(result).items + 5);
}

// The decoder counts as message_size() does.
TEST(Codec, a_message_at_its_limit_of_items_is_taken) {
  RunReply reply;
  reply.rows.resize(20);
  for (RunRow& row : reply.rows) row.result.emplace().samples.submission_ns.resize(50'000, 1);
  const auto items = [&] {
    std::size_t n = 3 + 2 + 2 + reply.rows.size();  // the envelope, the name with the body, its fields, the rows
    for (const RunRow& row : reply.rows) n += message_size(row).items;
    return n;
  };
  ASSERT_LT(items(), kMessageItemsTotalMax);
  reply.rows[0].result->samples.reference_ns.resize(kMessageItemsTotalMax - items(), 1);
  EXPECT_TRUE(decode_message<ClientReply>(encode_message<ClientReply>({1, reply})));
  reply.rows[0].result->samples.reference_ns.push_back(1);
  EXPECT_FALSE(decode_message<ClientReply>(encode_message<ClientReply>({1, reply})));
}

TEST(Codec, integers_keep_their_extremes) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  expect_round_trip(Samples{.submission_ns = {kMin, kMax, -1, 0, 1}, .reference_ns = {kMin + 1, INT32_MIN, INT32_MAX}});
  JobRecord job;
  job.seq = UINT64_MAX;
  job.attempt = UINT32_MAX;
  job.submitted_at_ms = kMin;
  job.finished_at_ms = kMax;
  expect_round_trip(job);
}

TEST(Codec, doubles_keep_every_bit) {
  const double values[] = {0.0,
                           -0.0,
                           0.1,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::denorm_min(),
                           std::numeric_limits<double>::max(),
                           std::numeric_limits<double>::quiet_NaN(),
                           std::bit_cast<double>(0xFFF8'0000'DEAD'BEEFull)};
  for (const double value : values) {
    LeaderboardRow row;
    row.median_ns = value;
    const auto decoded = decode<LeaderboardRow>(encode(row));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decoded->median_ns), std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Codec, text_may_hold_any_bytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  Submission submission;
  submission.label = bytes;
  submission.tags = {{bytes, bytes}};
  submission.salt = std::string(70'000, 'x');
  expect_round_trip(submission);
}

// ---- older and newer peers ------------------------------------------------------------------------------------------

TEST(Codec, unknown_fields_are_skipped) {
  const auto decoded = decode<JobRecord>(
      map({{"seq", u64(5)}, {"invented_later", array({kNil, map({{"a", kTrue}})})}, {"attempt", kOne}}));
  ASSERT_TRUE(decoded) << decoded.error().message;
  JobRecord expected;
  expected.seq = 5;
  expected.attempt = 1;
  EXPECT_EQ(*decoded, expected);
}

TEST(Codec, fields_in_any_order_are_read) {
  const auto decoded =
      decode<JobRecord>(map({{"last_error", str("why")}, {"attempt", kOne}, {"unknown", kNil}, {"seq", u64(5)}}));
  ASSERT_TRUE(decoded) << decoded.error().message;
  JobRecord expected;
  expected.seq = 5;
  expected.attempt = 1;
  expected.last_error = "why";
  EXPECT_EQ(*decoded, expected);
}

TEST(Codec, a_name_that_is_no_text_is_skipped_with_its_value) {
  const auto decoded = decode<JobRecord>("\x82" + kOne + array({kNil}) + str("attempt") + kOne);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->attempt, 1u);
}

TEST(Codec, absent_fields_keep_their_default) {
  const std::string empty = map({});
  EXPECT_EQ(decode<JobRecord>(empty), JobRecord{});
  EXPECT_EQ(decode<Submission>(empty), Submission{});
  Submission expected;
  expected.trials.timed = 1;
  EXPECT_EQ(decode<Submission>(map({{"trials", map({{"timed", kOne}})}})), expected);
}

TEST(Codec, nil_is_an_absent_optional) {
  const auto decoded = decode<Submission>(map({{"problem", map({{"rtol", kNil}})}}));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->problem.rtol, std::nullopt);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(Codec, a_record_has_its_values_in_order_and_a_message_has_their_names) {
  EXPECT_EQ(encode(ShortRunEntry{5}), array({u64(5)}).substr(0, 1) + "\5");
  EXPECT_EQ(encode(examples::job()).find("submitted_at_ms"), std::string::npos);
  EXPECT_NE(encode_message(Message<ClientReply>{1, RunReply{.rows = {examples::run_row()}}}).find("submitted_at_ms"),
            std::string::npos);
}

TEST(Codec, values_in_order_may_be_fewer_or_more) {
  EXPECT_EQ(decode<JobRecord>(array({u64(5)})), decode<JobRecord>(map({{"seq", u64(5)}})));
  EXPECT_EQ(decode<Samples>(array({array({kOne}), array({}), map({{"invented_later", kNil}}), kTrue})),
            (Samples{.submission_ns = {1}, .reference_ns = {}}));
}

TEST(Codec, wrong_values_in_order_are_refused_with_their_place) {
  EXPECT_EQ(refusal<JobRecord>(array({str("5")})), "malformed message at '.seq': an integer that fits was expected");
  EXPECT_EQ(refusal<Samples>(array({array({kOne, kTrue})})),
            "malformed message at '.submission_ns[1]': an integer that fits was expected");
  EXPECT_EQ(refusal<Samples>(array_of(3)), "malformed message at '': the message ends early");
}

TEST(Codec, trailing_bytes_are_refused) {
  EXPECT_EQ(refusal<JobRecord>(encode(examples::job()) + "x"), "message has 1 trailing bytes");
}

TEST(Codec, every_truncation_is_refused) {
  const std::string whole = encode(examples::run_row());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal<RunRow>(whole.substr(0, size)), "accepted") << size;
  }
}

TEST(Codec, wrong_types_are_refused_with_their_place) {
  EXPECT_EQ(refusal<JobRecord>(str("job")), "malformed message at '': a map was expected");
  EXPECT_EQ(refusal<JobRecord>(map({{"seq", str("5")}})),
            "malformed message at '.seq': an integer that fits was expected");
  EXPECT_EQ(refusal<JobRecord>(map({{"last_error", kOne}})),
            "malformed message at '.last_error': a string was expected");
  EXPECT_EQ(refusal<JobRecord>(map({{"key", str("short")}})),
            "malformed message at '.key': 32 bytes of a hash were expected");
  EXPECT_EQ(refusal<LeaderboardRow>(map({{"speedup", kOne}})),
            "malformed message at '.speedup': a 64-bit float was expected");
  EXPECT_EQ(refusal<Samples>(map({{"submission_ns", kNil}})),
            "malformed message at '.submission_ns': an array was expected");
  EXPECT_EQ(refusal<Submission>(map({{"tags", array({})}})), "malformed message at '.tags': a map was expected");
  EXPECT_EQ(refusal<Submission>(map({{"files", array({map({}), map({{"name", kTrue}})})}})),
            "malformed message at '.files[1].name': a string was expected");
  EXPECT_EQ(refusal<Result>(map({{"times", map({{"build_cached", kOne}})}})),
            "malformed message at '.times.build_cached': true or false was expected");
  EXPECT_EQ(refusal<Result>(map({{"verdict", map({})}})), "malformed message at '.verdict': [name, body] was expected");
}

TEST(Codec, integers_that_do_not_fit_are_refused) {
  const std::string error_text = "an integer that fits was expected";
  EXPECT_THAT(refusal<JobRecord>(map({{"attempt", u64(1ull << 32)}})), HasSubstr(error_text));
  EXPECT_THAT(refusal<JobRecord>(map({{"attempt", i64(-1)}})), HasSubstr(error_text));
  EXPECT_THAT(refusal<JobRecord>(map({{"seq", i64(-1)}})), HasSubstr(error_text));
  EXPECT_THAT(refusal<JobRecord>(map({{"leased_at_ms", u64(1ull << 63)}})), HasSubstr(error_text));
}

TEST(Codec, an_unknown_enumerator_lists_the_known_ones) {
  EXPECT_EQ(refusal<Submission>(map({{"backend", str("cobol")}})),
            "malformed message at '.backend': unknown name 'cobol', known are: torch, triton, cuda, torch_cuda, "
            "multi_kernel, eval_program");
}

TEST(Codec, an_unknown_variant_lists_the_known_ones) {
  EXPECT_EQ(refusal<Result>(map({{"verdict", array({str("failed"), map({})})}})),
            "malformed message at '.verdict': unknown name 'failed', known are: passed, suspect, ended");
}

TEST(Codec, a_long_unknown_name_is_quoted_in_part) {
  EXPECT_THAT(refusal<Submission>(map({{"backend", str(std::string(200, 'x'))}})),
              AllOf(HasSubstr("'" + std::string(64, 'x') + "'"), HasSubstr("known are: torch")));
}

TEST(Codec, an_ending_named_passed_or_suspect_is_refused) {
  for (const std::string name : {"passed", "suspect"}) {
    EXPECT_EQ(refusal<Result>(map({{"verdict", array({str("ended"), map({{"name", str(name)}})})}})),
              "malformed message at '.verdict': verdict '" + name + "' without a measurement");
  }
}

TEST(Codec, declared_counts_beyond_the_limit_are_refused_before_anything_is_reserved) {
  EXPECT_NE(refusal<Samples>(map({{"submission_ns", array_of(UINT32_MAX)}})), "accepted");
  EXPECT_NE(refusal<Samples>(map({{"submission_ns", array_of(kMessageItemsMax + 1)}})), "accepted");
  EXPECT_NE(refusal<Samples>(map_of(UINT32_MAX)), "accepted");
  EXPECT_NE(refusal<Submission>(map({{"label", big_endian('\xDB', UINT32_MAX, 4)}})), "accepted");
  EXPECT_NE(refusal<JobRecord>(map({{"key", big_endian('\xC6', UINT32_MAX, 4)}})), "accepted");
}

TEST(Codec, many_small_arrays_are_refused_by_their_sum) {
  const auto samples = [](std::uint32_t array_count) {
    std::string nested = array_of(array_count);
    for (std::uint32_t i = 0; i < array_count; ++i)
      nested += array_of(kMessageItemsMax) + std::string(kMessageItemsMax, 1);
    return map({{"invented_later", nested}});
  };
  EXPECT_EQ(refusal<Samples>(samples(15)), "accepted");
  EXPECT_EQ(refusal<Samples>(samples(16)), "message of more than 1048576 items");
}

TEST(Codec, depth_beyond_the_limit_is_refused) {
  for (const std::string& level : {std::string(1, '\x91'), std::string("\x81\xA1x", 3)}) {
    std::string bomb;
    for (int i = 0; i < 1'000'000; ++i) bomb += level;
    EXPECT_NE(refusal<JobRecord>(bomb), "accepted");
    EXPECT_NE(message_refusal<ClientRequest>(bomb), "accepted");
  }
}

TEST(Codec, the_deepest_message_is_within_the_depth_limit) {
  std::string nested = kNil;
  for (std::size_t i = 1; i < kMessageDepthMax; ++i) nested = array({nested});
  EXPECT_TRUE(decode<JobRecord>(map({{"invented_later", nested}})));
  EXPECT_FALSE(decode<JobRecord>(map({{"invented_later", array({nested})}})));
}

TEST(Codec, an_oversized_message_is_refused_by_its_size) {
  EXPECT_EQ(refusal<JobRecord>(std::string(kMessageBytesMax + 1, '\0')),
            "message of 67108865 bytes, the limit is 67108864");
}

TEST(Codec, an_empty_message_is_refused) {
  EXPECT_NE(refusal<JobRecord>(""), "accepted");
  EXPECT_NE(message_refusal<WorkerRequest>(""), "accepted");
}

TEST(Codec, another_protocol_version_is_refused) {
  const std::string body = array({str("goodbye"), map({})});
  EXPECT_EQ(message_refusal<WorkerRequest>(array({kOne, kOne, body})), "accepted");
  EXPECT_EQ(message_refusal<WorkerRequest>(array({"\x02", kOne, body})),
            "malformed message at '': protocol version 2, this program speaks 1");
}

TEST(Codec, a_malformed_envelope_is_refused) {
  const std::string body = array({str("goodbye"), map({})});
  EXPECT_THAT(message_refusal<WorkerRequest>(map({})), HasSubstr("[version, request_id, [name, body]] was expected"));
  EXPECT_THAT(message_refusal<WorkerRequest>(array({kOne, body})), HasSubstr("was expected"));
  EXPECT_THAT(message_refusal<WorkerRequest>(array({kOne, i64(-1), body})), HasSubstr("an integer that fits"));
}

TEST(Codec, a_message_of_another_direction_is_refused) {
  const std::string hello = encode_message(Message<WorkerRequest>{1, Hello{}});
  EXPECT_THAT(message_refusal<ClientRequest>(hello),
              HasSubstr("unknown name 'hello', known are: submit_batch, status_query"));
}

// ---- hostile bytes --------------------------------------------------------------------------------------------------

// Returns the bytes after one to four random changes, insertions, deletions or copies.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  static constexpr char kTypes[] = "\x80\x8F\x90\x9F\xC0\xC4\xCB\xD9\xDC\xDD\xDE\xDF\xFF";
  for (std::size_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
    const std::size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes[at] = kTypes[below(sizeof kTypes - 1)];
        break;
      case 3:
        bytes.insert(at, 1, static_cast<char>(random()));
        break;
      case 4:
        bytes.erase(at, 1 + below(8));
        break;
      case 5:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(32)));
        break;
    }
  }
  return bytes;
}

// Decodes mutated messages. An accepted message must be the same after a round trip, and a refused one must have an
// error text.
template <class Body>
void mutate_messages(const std::vector<Body>& bodies, int rounds) {
  std::mt19937_64 random(20'251'117);
  int accepted_count = 0;
  for (int i = 0; i < rounds; ++i) {
    const Body& body = bodies[static_cast<std::size_t>(i) % bodies.size()];
    const std::string hostile = mutated(encode_message(Message<Body>{1, body}), random);
    const auto decoded = decode_message<Body>(hostile);
    if (!decoded) {
      ASSERT_FALSE(decoded.error().message.empty());
      continue;
    }
    ++accepted_count;
    const std::string again = encode_message(*decoded);
    const auto redecoded = decode_message<Body>(again);
    ASSERT_TRUE(redecoded) << redecoded.error().message;
    ASSERT_EQ(encode_message(*redecoded), again);
  }
  EXPECT_GT(accepted_count, rounds / 100) << "the mutations are too strong: nearly all messages are refused";
}

TEST(CodecFuzz, mutated_client_messages_are_decoded_or_refused) {
  mutate_messages(examples::client_requests(), 10'000);
  mutate_messages(examples::client_replies(), 10'000);
}
TEST(CodecFuzz, mutated_worker_messages_never_crash) {
  mutate_messages(examples::worker_requests(), 10'000);
  mutate_messages(examples::worker_replies(), 10'000);
}
TEST(CodecFuzz, mutated_judge_messages_never_crash) {
  mutate_messages(examples::judge_requests(), 5'000);
  mutate_messages(examples::judge_replies(), 5'000);
}

TEST(CodecFuzz, random_bytes_never_crash) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    (void)decode<RunRow>(bytes);
    (void)decode_message<ClientRequest>(bytes);
  }
}

}  // namespace
}  // namespace kq
