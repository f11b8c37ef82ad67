#include "core/codec.h"

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <map>
#include <msgpack.hpp>
#include <type_traits>
#include <vector>

#include "core/limits.h"

namespace kq {
namespace {

// ---- writing -----------------------------------------------------------------------------------------------------------------------

class Packer : public msgpack::packer<msgpack::sbuffer> {
 public:
  explicit Packer(msgpack::sbuffer& buffer) : packer(buffer), buffer_(buffer) {}

  // msgpack's own pack_double writes a whole number as an integer, and -0.0 as 0: the type would depend on the value.
  void pack_float64(double value) {
    char bytes[9] = {'\xCB'};
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
    buffer_.write(bytes, sizeof bytes);
  }

 private:
  msgpack::sbuffer& buffer_;
};

template <class T>
void write(Packer& out, const T& value);

struct FieldCounter {
  std::uint32_t n = 0;
  template <class T>
  void operator()(const char*, T&) { ++n; }
};

struct FieldWriter {
  Packer& out;
  template <class T>
  void operator()(std::string_view name, T& value) {
    out.pack_str(static_cast<std::uint32_t>(name.size())).pack_str_body(name.data(), static_cast<std::uint32_t>(name.size()));
    write(out, value);
  }
};

void write_text(Packer& out, std::string_view text) {
  out.pack_str(static_cast<std::uint32_t>(text.size())).pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
}

template <class T>
void write_value(Packer& out, const std::vector<T>& items) {
  out.pack_array(static_cast<std::uint32_t>(items.size()));
  for (const T& item : items) write(out, item);
}

template <class T>
void write_value(Packer& out, const std::optional<T>& value) {
  if (value) {
    write(out, *value);
  } else {
    out.pack_nil();
  }
}

template <class... Ts>
void write_value(Packer& out, const std::variant<Ts...>& value) {
  std::visit(
      [&]<class T>(const T& body) {
        out.pack_array(2);
        write_text(out, AlternativeName<T>::value);
        write(out, body);
      },
      value);
}

void write_value(Packer& out, const std::map<std::string, std::string>& items) {
  out.pack_map(static_cast<std::uint32_t>(items.size()));
  for (const auto& [name, value] : items) {
    write_text(out, name);
    write_text(out, value);
  }
}

void write_value(Packer& out, const Hash& hash) {
  out.pack_bin(static_cast<std::uint32_t>(hash.bytes.size()))
      .pack_bin_body(reinterpret_cast<const char*>(hash.bytes.data()), static_cast<std::uint32_t>(hash.bytes.size()));
}

// Text and bytes are both std::string; both travel as `str`, whose bytes the format does not restrict.
void write_value(Packer& out, const std::string& text) { write_text(out, text); }

template <class T>
void write(Packer& out, const T& value) {
  if constexpr (NamedEnum<T>) {
    write_text(out, to_string(value));
  } else if constexpr (std::floating_point<T>) {
    out.pack_float64(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out.pack(value);
  } else if constexpr (requires { write_value(out, value); }) {
    write_value(out, value);
  } else {
    T& body = const_cast<T&>(value);  // fields() serves reading and writing; the writer does not change the value
    FieldCounter counter;
    fields(counter, body);
    out.pack_map(counter.n);
    FieldWriter writer{out};
    fields(writer, body);
  }
}

// ---- reading -----------------------------------------------------------------------------------------------------------------------

// Thrown inside this file only; decode() turns it into an Error. It carries the path of field names to the fault.
struct Malformed {
  std::string where;
  std::string what;
};

using Object = msgpack::object;

template <class T>
void read(const Object& in, T& value);

[[noreturn]] void refuse(std::string what) { throw Malformed{"", std::move(what)}; }

std::string_view text_of(const Object& in) {
  if (in.type != msgpack::type::STR) refuse("a string was expected");
  return {in.via.str.ptr, in.via.str.size};
}

void read_value(const Object& in, std::string& value) { value = text_of(in); }

void read_value(const Object& in, Hash& hash) {
  if (in.type != msgpack::type::BIN || in.via.bin.size != hash.bytes.size()) refuse("32 bytes of a hash were expected");
  std::memcpy(hash.bytes.data(), in.via.bin.ptr, hash.bytes.size());
}

template <class T>
void read_value(const Object& in, std::vector<T>& items) {
  if (in.type != msgpack::type::ARRAY) refuse("an array was expected");
  items.clear();
  items.reserve(in.via.array.size);
  for (std::uint32_t i = 0; i < in.via.array.size; ++i) {
    items.emplace_back();
    try {
      read(in.via.array.ptr[i], items.back());
    } catch (Malformed& malformed) {
      malformed.where = "[" + std::to_string(i) + "]" + malformed.where;
      throw;
    }
  }
}

template <class T>
void read_value(const Object& in, std::optional<T>& value) {
  if (in.type == msgpack::type::NIL) {
    value.reset();
  } else {
    read(in, value.emplace());
  }
}

template <class... Ts>
void read_value(const Object& in, std::variant<Ts...>& value) {
  if (in.type != msgpack::type::ARRAY || in.via.array.size != 2) refuse("[name, body] was expected");
  const std::string_view name = text_of(in.via.array.ptr[0]);
  const auto try_one = [&]<class T>(std::type_identity<T>) {
    if (AlternativeName<T>::value != name) return false;
    read(in.via.array.ptr[1], value.template emplace<T>());
    return true;
  };
  if (!(try_one(std::type_identity<Ts>{}) || ...)) {
    std::string known;
    ((known += known.empty() ? "" : ", ", known += AlternativeName<Ts>::value), ...);
    refuse("unknown name '" + std::string(name.substr(0, 64)) + "', known are: " + known);
  }
}

void read_value(const Object& in, std::map<std::string, std::string>& items) {
  if (in.type != msgpack::type::MAP) refuse("a map was expected");
  items.clear();
  for (std::uint32_t i = 0; i < in.via.map.size; ++i) {
    items.insert_or_assign(std::string(text_of(in.via.map.ptr[i].key)), std::string(text_of(in.via.map.ptr[i].val)));
  }
}

template <class T>
  requires std::is_arithmetic_v<T>
void read_value(const Object& in, T& value) {
  if constexpr (std::same_as<T, bool>) {
    if (in.type != msgpack::type::BOOLEAN) refuse("true or false was expected");
    value = in.via.boolean;
  } else if constexpr (std::floating_point<T>) {
    if (in.type != msgpack::type::FLOAT64) refuse("a 64-bit float was expected");
    value = in.via.f64;
  } else if (in.type == msgpack::type::POSITIVE_INTEGER && std::in_range<T>(in.via.u64)) {
    value = static_cast<T>(in.via.u64);
  } else if (in.type == msgpack::type::NEGATIVE_INTEGER && std::in_range<T>(in.via.i64)) {
    value = static_cast<T>(in.via.i64);
  } else {
    refuse("an integer that fits was expected");
  }
}

struct FieldReader {
  const Object& in;
  template <class T>
  void operator()(std::string_view name, T& value) {
    for (std::uint32_t i = 0; i < in.via.map.size; ++i) {
      const msgpack::object_kv& pair = in.via.map.ptr[i];
      if (pair.key.type != msgpack::type::STR || text_of(pair.key) != name) continue;
      try {
        read(pair.val, value);
      } catch (Malformed& malformed) {
        malformed.where = "." + std::string(name) + malformed.where;
        throw;
      }
      return;
    }
  }
};

template <class T>
void read(const Object& in, T& value) {
  if constexpr (NamedEnum<T>) {
    const std::string_view name = text_of(in);
    const auto parsed = parse_enum<T>(name);
    if (!parsed) refuse("unknown name '" + std::string(name.substr(0, 64)) + "', known are: " + known_names<T>());
    value = *parsed;
  } else if constexpr (requires { read_value(in, value); }) {
    read_value(in, value);
  } else {
    if (in.type != msgpack::type::MAP) refuse("a map was expected");
    FieldReader reader{in};
    fields(reader, value);
    if constexpr (requires { complaint(value); }) {
      if (const auto wrong = complaint(value)) refuse(*wrong);
    }
  }
}

// ---- the envelope ------------------------------------------------------------------------------------------------------------------

// Counts what a message would unpack to, before anything is unpacked: a byte on the wire can stand for a struct of a kilobyte.
struct ItemCounter : msgpack::null_visitor {
  std::size_t items_n = 0;

  bool start_array(std::uint32_t n) { return add(n); }
  bool start_map(std::uint32_t n) { return add(n); }
  bool add(std::uint32_t n) {
    items_n += n;
    return items_n <= kMessageItemsTotalMax;
  }
};

bool has_too_many_items(std::string_view bytes) {
  ItemCounter counter;
  std::size_t offset = 0;
  msgpack::parse(bytes.data(), bytes.size(), offset, counter);
  return counter.items_n > kMessageItemsTotalMax;
}

template <class T, class ReadWith>
Expected<T> unpack(std::string_view bytes, ReadWith read_with) {
  if (bytes.size() > kMessageBytesMax) {
    return bad_input("message of " + std::to_string(bytes.size()) + " bytes, the limit is " + std::to_string(kMessageBytesMax));
  }
  try {
    if (has_too_many_items(bytes)) return bad_input("message of more than " + std::to_string(kMessageItemsTotalMax) + " items");
    const msgpack::unpack_limit limit(kMessageItemsMax, kMessageItemsMax, kMessageBytesMax, kMessageBytesMax, 0, kMessageDepthMax);
    std::size_t offset = 0;
    const auto reference = [](msgpack::type::object_type, std::size_t, void*) { return true; };  // strings stay in `bytes`
    const msgpack::object_handle handle = msgpack::unpack(bytes.data(), bytes.size(), offset, reference, nullptr, limit);
    if (offset != bytes.size()) return bad_input("message has " + std::to_string(bytes.size() - offset) + " trailing bytes");
    T value;
    read_with(handle.get(), value);
    return value;
  } catch (const Malformed& malformed) {
    return bad_input("malformed message at '" + malformed.where + "': " + malformed.what);
  } catch (const std::exception& error) {
    return bad_input(std::string("malformed message: ") + error.what());
  }
}

std::string taken_from(const msgpack::sbuffer& buffer) { return {buffer.data(), buffer.size()}; }

}  // namespace

template <class T>
std::string encode(const T& value) {
  msgpack::sbuffer buffer;
  Packer out(buffer);
  write(out, value);
  return taken_from(buffer);
}

template <class T>
Expected<T> decode(std::string_view bytes) {
  return unpack<T>(bytes, [](const Object& in, T& value) { read(in, value); });
}

template <class Body>
std::string encode_message(const Message<Body>& message) {
  msgpack::sbuffer buffer;
  Packer out(buffer);
  out.pack_array(3);
  out.pack(kProtocolVersion);
  out.pack(message.request_id);
  write(out, message.body);
  return taken_from(buffer);
}

template <class Body>
Expected<Message<Body>> decode_message(std::string_view bytes) {
  return unpack<Message<Body>>(bytes, [](const Object& in, Message<Body>& message) {
    if (in.type != msgpack::type::ARRAY || in.via.array.size != 3) refuse("[version, request_id, [name, body]] was expected");
    std::uint32_t version = 0;
    read(in.via.array.ptr[0], version);
    if (version != kProtocolVersion) {
      refuse("protocol version " + std::to_string(version) + ", this program speaks " + std::to_string(kProtocolVersion));
    }
    read(in.via.array.ptr[1], message.request_id);
    read(in.via.array.ptr[2], message.body);
  });
}

#define KQ_RECORD(T)                           \
  template std::string encode<T>(const T&);    \
  template Expected<T> decode<T>(std::string_view)
KQ_RECORD(Submission);
KQ_RECORD(JobRecord);
KQ_RECORD(Result);
KQ_RECORD(Samples);
KQ_RECORD(Requirements);
KQ_RECORD(RunEntry);
KQ_RECORD(RunRow);
KQ_RECORD(LeaderboardRow);
#undef KQ_RECORD

#define KQ_MESSAGE(Body)                                               \
  template std::string encode_message<Body>(const Message<Body>&);     \
  template Expected<Message<Body>> decode_message<Body>(std::string_view)
KQ_MESSAGE(ClientRequest);
KQ_MESSAGE(ClientReply);
KQ_MESSAGE(WorkerRequest);
KQ_MESSAGE(WorkerReply);
KQ_MESSAGE(JudgeRequest);
KQ_MESSAGE(JudgeReply);
#undef KQ_MESSAGE

}  // namespace kq
