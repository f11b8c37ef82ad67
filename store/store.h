// The port to the disk: ordered keys in families, one atomic durable commit. Two implementations, one contract test over both.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/error.h"

namespace kq {

// What lives where; values are described in core/records.h, keys in store/keys.h.
enum class Family { meta, state, ids, body, result, samples, blob, run, board };
template <>
inline constexpr std::array<std::string_view, 9> kEnumNames<Family>{"meta", "state", "ids", "body", "result",
                                                                    "samples", "blob", "run", "board"};

struct Write {
  Family family;
  std::string key;
  std::optional<std::string> value;  // nothing: remove the key

  friend bool operator==(const Write&, const Write&) = default;
};

// Owned by one broker process. Tools open it read-only when no broker is running.
class Store {
 public:
  virtual ~Store() = default;

  // All writes or none, in their order, on disk when this returns. After an error nothing may be acknowledged and the process ends.
  virtual Expected<void> commit(std::span<const Write> writes) = 0;

  virtual Expected<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

  // Visits keys in [first, end) in byte order until `visit` returns false. An empty `end` means no upper bound.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const = 0;
};

}  // namespace kq
