// The options that say how submissions are judged. kq-submit and kq-sweep have the same ones, from this table.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "core/base/error.h"
#include "producer/formats/candidate.h"

namespace kq::producer {

struct JudgeOption {
  const char* flag;   // "--rtol"
  const char* value;  // its value in --help, a placeholder or words such as "a|b"; null: none
  const char* help;
  // Sets the option. Of an option without a value `text` is empty. Fails with a sentence that goes behind the flag.
  Expected<void> (*apply)(const std::string& text, InputOptions& options);
};

std::span<const JudgeOption> judge_options();

// What one command line says of these options. A parser of command lines writes the fields, whose addresses stay.
class JudgeOptionTexts {
 public:
  struct Given {
    const JudgeOption& option;
    std::string text = {};  // empty: not given
    bool is_set = false;    // of an option without a value
  };
  JudgeOptionTexts();
  std::deque<Given>& all() { return all_; }

  // Sets the options that were given. Fails with a sentence about the first one that is wrong.
  Expected<void> apply(InputOptions& options) const;

 private:
  std::deque<Given> all_;
};

}  // namespace kq::producer
