// Gives small numbers to long names, so that a queue key holds four bytes instead of a name. A number is given once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace kq::broker {

template <class Name>
class Numbering {
 public:
  std::optional<std::uint32_t> find(const Name& name) const {
    const auto place = numbers_.find(name);
    if (place == numbers_.end()) return std::nullopt;
    return place->second;
  }
  // Returns null for a number that has no name.
  const Name* name(std::uint32_t number) const {
    const auto place = names_.find(number);
    return place == names_.end() ? nullptr : place->second;
  }

  // Gives the next number to a name that has none.
  std::uint32_t add(const Name& name) {
    const std::uint32_t number = next_;
    restore(number, name);
    return number;
  }
  void restore(std::uint32_t number, const Name& name) {
    names_[number] = &numbers_.emplace(name, number).first->first;
    if (number >= next_) next_ = number + 1;
  }

  // Forgets the name. Its number is not given again.
  void remove(std::uint32_t number) {
    const auto place = names_.find(number);
    if (place == names_.end()) return;
    numbers_.erase(numbers_.find(*place->second));
    names_.erase(place);
  }

  std::size_t size() const { return names_.size(); }
  // The number of the next name.
  std::uint32_t next() const { return next_; }
  void skip_to(std::uint32_t next) {
    if (next > next_) next_ = next;
  }
  void each(const auto& visit) const {
    for (const auto& [number, name] : names_) visit(number, *name);
  }

 private:
  std::map<Name, std::uint32_t> numbers_;
  std::map<std::uint32_t, const Name*> names_;  // pointers to the keys of numbers_
  std::uint32_t next_ = 0;
};

}  // namespace kq::broker
