// The columns of jobs that the table of a page shows, sorts and filters, as compact JSON: a column of text is a list of
// its distinct values and an index for each job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/records.h"

namespace kq::tools {

class JobTable {
 public:
  JobTable();
  // `page` is the number of the page that has the details of the job, from 0.
  void add(const RunRow& row, std::size_t page);
  std::size_t size() const { return size_; }
  // Returns {"size": N, "text": {NAME: {"values": [...], "of": [...]}}, "numbers": {NAME: [...]}}.
  std::string json() const;

 private:
  struct TextColumn {
    std::string name;
    std::map<std::string, std::size_t> index_of;
    std::vector<const std::string*> values;  // keys of the map, in the order of their indices
    std::string indices;
  };
  struct NumberColumn {
    std::string name;
    std::string numbers;
  };
  void put(std::size_t column, std::string value);
  void put(std::size_t column, double value, bool is_known);

  std::size_t size_ = 0;
  std::vector<TextColumn> texts_;
  std::vector<NumberColumn> numbers_;
};

}  // namespace kq::tools
