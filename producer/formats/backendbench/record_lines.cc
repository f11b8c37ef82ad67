// Prints, for each line of standard input, the arguments of the record as JSON, or the error.
#include <iostream>
#include <string>

#include "producer/formats/backendbench/record.h"

int main() {
  using kq::producer::Json;
  for (std::string line; std::getline(std::cin, line);) {
    auto record = kq::producer::backendbench::parse_record(line);
    if (record) {
      Json both{kq::producer::JsonArray{Json{std::move(record->positional)}, Json{std::move(record->named)}}};
      std::cout << to_text(both) << "\n";
    } else {
      std::cout << "error: " << record.error().message << "\n";
    }
  }
}
