// Compares the order of the fields in every struct of every record with orders.txt. A record on disk has no names of
// fields, so a new field may only be added at the end.
//
// orders.txt has a line for each struct: its path in its record, and its fields. The present line may be longer than
// the line of the file, and there may be new lines. With KQ_GOLDEN_WRITE=1 the program writes these to the file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/codec/codec.h"

namespace kq::golden {
namespace {

using Orders = std::map<std::string, std::string>;

struct Lister {
  Orders& orders;
  const std::string& place;
  std::string names{};
  std::vector<std::function<void()>> inner{};

  template <class T>
  void operator()(const char* name, T&) {
    names += std::string(names.empty() ? "" : " ") + name;
    inner.push_back([this, name] { list(orders, place + "." + name, static_cast<T*>(nullptr)); });
  }

  // A value without fields() is not a struct of kq and has no order.
  template <class T>
  static void list(Orders& orders, const std::string& place, T*) {
    if constexpr (requires(Lister & lister, T & value) { fields(lister, value); }) {
      T value{};
      Lister lister{.orders = orders, .place = place};
      fields(lister, value);
      orders[place] = lister.names;
      for (const auto& each : lister.inner) each();
    }
  }
  template <class T>
  static void list(Orders& orders, const std::string& place, std::vector<T>*) {
    list(orders, place, static_cast<T*>(nullptr));
  }
  template <class T>
  static void list(Orders& orders, const std::string& place, std::optional<T>*) {
    list(orders, place, static_cast<T*>(nullptr));
  }
  template <class... Ts>
  static void list(Orders& orders, const std::string& place, std::variant<Ts...>*) {
    (list(orders, place + "/" + std::string(AlternativeName<Ts>::value), static_cast<Ts*>(nullptr)), ...);
  }
};

Orders present() {
  Orders orders;
  Lister::list(orders, "Submission", static_cast<Submission*>(nullptr));
  Lister::list(orders, "JobRecord", static_cast<JobRecord*>(nullptr));
  Lister::list(orders, "Result", static_cast<Result*>(nullptr));
  Lister::list(orders, "Samples", static_cast<Samples*>(nullptr));
  Lister::list(orders, "RunEntry", static_cast<RunEntry*>(nullptr));
  Lister::list(orders, "RunOwner", static_cast<RunOwner*>(nullptr));
  Lister::list(orders, "LeaderboardRow", static_cast<LeaderboardRow*>(nullptr));
  Lister::list(orders, "BuildObject", static_cast<BuildObject*>(nullptr));
  return orders;
}

Orders frozen() {
  Orders orders;
  std::ifstream file(KQ_GOLDEN_ORDERS);
  for (std::string line; std::getline(file, line);)
    orders[line.substr(0, line.find(':'))] = line.substr(line.find(':') + 2);
  return orders;
}

TEST(GoldenOrders, a_field_is_added_at_the_end_alone) {
  const Orders now = present();
  for (const auto& [place, names] : frozen()) {
    ASSERT_TRUE(now.contains(place)) << place << " is gone";
    EXPECT_TRUE(names.empty() || (now.at(place) + " ").starts_with(names + " "))
        << place << " was: " << names << "\nis: " << now.at(place);
  }
  if (std::getenv("KQ_GOLDEN_WRITE") != nullptr && !HasFailure()) {
    std::ofstream file(KQ_GOLDEN_ORDERS);
    for (const auto& [place, names] : now) file << place << ": " << names << "\n";
  }
  EXPECT_EQ(frozen(), now) << "run with KQ_GOLDEN_WRITE=1";
}

TEST(GoldenOrders, structs_inside_lists_and_alternatives_are_compared) {
  const Orders orders = present();
  for (const char* place : {"Submission.files", "Submission.problem", "Result.verdict/passed.measurement.submission",
                            "RunEntry.submission.trials"}) {
    EXPECT_TRUE(orders.contains(place)) << place;
  }
  EXPECT_EQ(orders.at("Submission.files"), "name hash");
}

TEST(GoldenOrders, a_short_entry_is_the_beginning_of_a_long_one) {
  EXPECT_EQ(decode<RunEntry>(encode(ShortRunEntry{7})).value(), (RunEntry{.seq = 7, .submission = {}}));
}

}  // namespace
}  // namespace kq::golden
