#include "core/codec/codec.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/codec/msgpack_reader.h"
#include "core/codec/msgpack_writer.h"
#include "core/limits.h"

namespace kq {
namespace {

// ---- writing --------------------------------------------------------------------------------------------------------

// The writer of records, in which a struct is the array of its values. Messages are written by a MsgpackWriter and
// measured by a MsgpackSizer.
class RecordWriter : public MsgpackWriter {
 public:
  using MsgpackWriter::MsgpackWriter;
};

template <class Out, class T>
void write(Out& out, const T& value);

struct FieldCounter {
  std::size_t n = 0;
  template <class T>
  void operator()(const char*, T&) {
    ++n;
  }
};

template <class Out>
struct FieldWriter {
  Out& out;
  template <std::size_t kBytes, class T>
  void operator()(const char (&name)[kBytes], T& value) {
    if constexpr (!std::same_as<Out, RecordWriter>) out.name(name);
    write(out, value);
  }
};

template <class Out, class T>
void write_value(Out& out, const std::vector<T>& items) {
  out.array(items.size());
  for (const T& item : items) write(out, item);
}

template <class Out, class T>
void write_value(Out& out, const std::optional<T>& value) {
  if (value) {
    write(out, *value);
  } else {
    out.nil();
  }
}

template <class Out, class... Ts>
void write_value(Out& out, const std::variant<Ts...>& value) {
  std::visit(
      [&]<class T>(const T& body) {
        out.array(2);
        out.text(AlternativeName<T>::value);
        write(out, body);
      },
      value);
}

template <class Out>
void write_value(Out& out, const std::map<std::string, std::string>& items) {
  out.map(items.size());
  for (const auto& [name, value] : items) {
    out.text(name);
    out.text(value);
  }
}

template <class Out>
void write_value(Out& out, const Hash& hash) {
  out.binary(as_bytes(hash));
}

template <class Out>
void write_value(Out& out, const std::string& text) {
  out.text(text);
}

template <class Out>
void write_value(Out& out, const SharedBytes& bytes) {
  out.text(bytes);
}

template <class Out, class T>
void write(Out& out, const T& value) {
  if constexpr (NamedEnum<T>) {
    out.text(to_string(value));
  } else if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (std::floating_point<T>) {
    out.float64(value);
  } else if constexpr (std::unsigned_integral<T>) {
    out.unsigned_integer(value);
  } else if constexpr (std::signed_integral<T>) {
    out.signed_integer(value);
  } else if constexpr (requires { write_value(out, value); }) {
    write_value(out, value);
  } else {
    T& body = const_cast<T&>(value);  // fields() serves reading and writing; the writer does not change the value
    FieldCounter counter;
    fields(counter, body);
    if constexpr (std::same_as<Out, RecordWriter>) {
      out.array(counter.n);
    } else {
      out.map(counter.n);
    }
    FieldWriter<Out> writer{out};
    fields(writer, body);
  }
}

// ---- reading --------------------------------------------------------------------------------------------------------

// The most elements for which memory is reserved in advance, because the stated count may be false. A longer vector
// grows while its elements are read.
constexpr std::size_t kReserveMax = 256;

template <class T>
void read(MsgpackReader& in, T& value);

[[noreturn]] void refuse(std::string what) {
  throw Malformed{"", std::move(what)};
}

// Reads a value and adds `place`, the path of the value, to any error. The text of the path is built only on failure.
template <class T, class Place>
void read_at(MsgpackReader& in, T& value, Place place) {
  try {
    read(in, value);
  } catch (Malformed& malformed) {
    malformed.where = place() + malformed.where;
    throw;
  }
}

std::string_view read_text(MsgpackReader& in) {
  const auto text = in.try_text();
  if (!text) refuse("a string was expected");
  return *text;
}

std::uint32_t open_map(MsgpackReader& in) {
  const auto n = in.try_open_map();
  if (!n) refuse("a map was expected");
  return *n;
}

void read_value(MsgpackReader& in, std::string& value) {
  value = read_text(in);
}

void read_value(MsgpackReader& in, SharedBytes& bytes) {
  bytes = std::string(read_text(in));
}

void read_value(MsgpackReader& in, Hash& hash) {
  const auto bytes = in.try_binary();
  if (!bytes || bytes->size() != hash.bytes.size()) refuse("32 bytes of a hash were expected");
  std::memcpy(hash.bytes.data(), bytes->data(), hash.bytes.size());
}

template <class T>
void read_value(MsgpackReader& in, std::vector<T>& items) {
  const auto n = in.try_open_array();
  if (!n) refuse("an array was expected");
  items.clear();
  items.reserve(std::min<std::size_t>(*n, kReserveMax));
  for (std::uint32_t i = 0; i < *n; ++i) {
    items.emplace_back();
    read_at(in, items.back(), [i] { return "[" + std::to_string(i) + "]"; });
  }
  in.close();
}

template <class T>
void read_value(MsgpackReader& in, std::optional<T>& value) {
  if (in.try_nil()) {
    value.reset();
  } else {
    read(in, value.emplace());
  }
}

template <class... Ts>
void read_value(MsgpackReader& in, std::variant<Ts...>& value) {
  if (in.try_open_array() != 2u) refuse("[name, body] was expected");
  const std::string_view name = read_text(in);
  const auto try_one = [&]<class T>(std::type_identity<T>) {
    if (AlternativeName<T>::value != name) return false;
    read(in, value.template emplace<T>());
    return true;
  };
  if (!(try_one(std::type_identity<Ts>{}) || ...)) {
    std::string known;
    ((known += known.empty() ? "" : ", ", known += AlternativeName<Ts>::value), ...);
    refuse("unknown name '" + std::string(name.substr(0, 64)) + "', known are: " + known);
  }
  in.close();
}

void read_value(MsgpackReader& in, std::map<std::string, std::string>& items) {
  const std::uint32_t n = open_map(in);
  items.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    std::string name(read_text(in));
    items.insert_or_assign(std::move(name), std::string(read_text(in)));
  }
  in.close();
}

template <class T>
requires std::is_arithmetic_v<T>
void read_value(MsgpackReader& in, T& value) {
  if constexpr (std::same_as<T, bool>) {
    const auto read = in.try_boolean();
    if (!read) refuse("true or false was expected");
    value = *read;
  } else if constexpr (std::floating_point<T>) {
    const auto read = in.try_float64();
    if (!read) refuse("a 64-bit float was expected");
    value = *read;
  } else {
    const auto read = in.try_integer();
    const bool fits = read && (read->negative ? std::in_range<T>(static_cast<std::int64_t>(read->bits))
                                              : std::in_range<T>(read->bits));
    if (!fits) refuse("an integer that fits was expected");
    value = static_cast<T>(read->bits);
  }
}

// Reads a map in one pass over the fields, in the order in which kq's own encoder writes them. Each field reads the
// next pair of the map if the pair has its name. So a map of the same version needs one comparison for each field.
struct FieldReader {
  MsgpackReader& in;
  std::uint32_t left_count;  // the number of pairs that are not read yet
  bool any_read = false;     // whether any field has read a pair in this pass

  template <std::size_t kBytes, class T>
  void operator()(const char (&field)[kBytes], T& value) {
    if (left_count == 0 || !in.try_text(field)) return;
    --left_count;
    any_read = true;
    read_at(in, value, [&field] { return "." + std::string(field); });
  }
};

// Reads an array as the values of the fields in their order. Fields without a value keep their defaults.
struct PositionReader {
  MsgpackReader& in;
  std::uint32_t left_count;

  template <class T>
  void operator()(std::string_view field, T& value) {
    if (left_count == 0) return;
    --left_count;
    read_at(in, value, [field] { return "." + std::string(field); });
  }
};

template <class T>
void read_fields(MsgpackReader& in, T& value) {
  if (const auto n = in.try_open_array()) {
    PositionReader reader{.in = in, .left_count = *n};
    fields(reader, value);
    for (; reader.left_count > 0; --reader.left_count) in.skip();  // fields of a newer version
    in.close();
    return;
  }
  FieldReader reader{.in = in, .left_count = open_map(in)};
  while (reader.left_count > 0) {
    reader.any_read = false;
    fields(reader, value);
    if (reader.any_read) continue;
    // No field has the next name, so the pair is of a newer version.
    in.skip();
    in.skip();
    --reader.left_count;
  }
  in.close();
}

template <class T>
void read(MsgpackReader& in, T& value) {
  if constexpr (NamedEnum<T>) {
    const std::string_view name = read_text(in);
    const auto parsed = parse_enum<T>(name);
    if (!parsed) refuse("unknown name '" + std::string(name.substr(0, 64)) + "', known are: " + known_names<T>());
    value = *parsed;
  } else if constexpr (requires { read_value(in, value); }) {
    read_value(in, value);
  } else {
    read_fields(in, value);
    if constexpr (requires { decode_error(value); }) {
      if (const auto wrong = decode_error(value)) refuse(*wrong);
    }
  }
}

// ---- the envelope ---------------------------------------------------------------------------------------------------

template <class T, class ReadWith>
Expected<T> unpack(std::string_view bytes, ReadWith read_with) {
  if (bytes.size() > kMessageBytesMax) {
    return bad_input("message of " + std::to_string(bytes.size()) + " bytes, the limit is " +
                     std::to_string(kMessageBytesMax));
  }
  try {
    MsgpackReader in(bytes);
    Expected<T> value;
    read_with(in, *value);
    if (in.rest_bytes() != 0) return bad_input("message has " + std::to_string(in.rest_bytes()) + " trailing bytes");
    return value;
  } catch (const Malformed& malformed) {
    return bad_input("malformed message at '" + malformed.where + "': " + malformed.what);
  } catch (const TooManyItems&) {
    return bad_input("message of more than " + std::to_string(kMessageItemsTotalMax) + " items");
  }
}

}  // namespace

template <class T>
std::string encode(const T& value) {
  std::string bytes;
  {
    RecordWriter writer(bytes);
    write(writer, value);
  }
  return bytes;
}

template <class T>
Expected<T> decode(std::string_view bytes) {
  return unpack<T>(bytes, [](MsgpackReader& in, T& value) { read(in, value); });
}

template <class T>
MessageSize message_size(const T& value) {
  MsgpackSizer sizer;
  write(sizer, value);
  return {.bytes = sizer.byte_count(), .items = sizer.item_count()};
}

template <class Body>
std::string encode_message(const Message<Body>& message) {
  std::string bytes;
  append_message(bytes, message);
  return bytes;
}

template <class Body>
void append_message(std::string& out, const Message<Body>& message) {
  const auto write_to = [&](auto& writer) {
    writer.array(3);
    writer.unsigned_integer(kProtocolVersion);
    writer.unsigned_integer(message.request_id);
    write(writer, message.body);
  };
  MsgpackSizer sizer;
  write_to(sizer);
  out.reserve(out.size() + sizer.byte_count());
  MsgpackWriter writer(out);
  write_to(writer);
}

template <class Body>
Expected<Message<Body>> decode_message(std::string_view bytes) {
  return unpack<Message<Body>>(bytes, [](MsgpackReader& in, Message<Body>& message) {
    if (in.try_open_array() != 3u) refuse("[version, request_id, [name, body]] was expected");
    std::uint32_t version = 0;
    read(in, version);
    if (version != kProtocolVersion) {
      refuse("protocol version " + std::to_string(version) + ", this program speaks " +
             std::to_string(kProtocolVersion));
    }
    read(in, message.request_id);
    read(in, message.body);
    in.close();
  });
}

#define KQ_RECORD(T)                        \
  template std::string encode<T>(const T&); \
  template Expected<T> decode<T>(std::string_view)
KQ_RECORD(Submission);
KQ_RECORD(JobRecord);
KQ_RECORD(Result);
KQ_RECORD(Samples);
KQ_RECORD(Requirements);
KQ_RECORD(RunEntry);
KQ_RECORD(ShortRunEntry);
KQ_RECORD(RunRow);
KQ_RECORD(RunOwner);
KQ_RECORD(LeaderboardRow);
KQ_RECORD(BuildObject);
KQ_RECORD(ProblemCertificate);
#undef KQ_RECORD

template MessageSize message_size<Result>(const Result&);
template MessageSize message_size<RunRow>(const RunRow&);

#define KQ_MESSAGE(Body)                                                  \
  template std::string encode_message<Body>(const Message<Body>&);        \
  template void append_message<Body>(std::string&, const Message<Body>&); \
  template Expected<Message<Body>> decode_message<Body>(std::string_view)
KQ_MESSAGE(ClientRequest);
KQ_MESSAGE(ClientReply);
KQ_MESSAGE(WorkerRequest);
KQ_MESSAGE(WorkerReply);
KQ_MESSAGE(JudgeRequest);
KQ_MESSAGE(JudgeReply);
#undef KQ_MESSAGE

}  // namespace kq
