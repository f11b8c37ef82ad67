#include "producer/formats/settings.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/limits.h"
#include "producer/client/when.h"

namespace kq::producer {
namespace {

using ErrorText = std::optional<std::string>;

template <NamedEnum E>
ErrorText read_word(const std::string& value, E& into) {
  const auto found = parse_enum<E>(value);
  if (!found) return "must be one of " + known_names<E>() + ", got '" + value + "'";
  into = *found;
  return std::nullopt;
}

ErrorText read_when(const std::string& value, std::int64_t now_ms, std::int64_t& into) {
  const auto when = parse_when(value, now_ms);
  if (!when) return when.error().message;
  into = *when;
  return std::nullopt;
}

ErrorText read_limit(const std::string& value, std::uint32_t& into) {
  const auto limit = parse_limit(value);
  if (!limit) return limit.error().message;
  into = *limit;
  return std::nullopt;
}

ErrorText read_flag(const std::string& value, bool& into) {
  if (value != "yes" && value != "no") return "must be yes or no, got '" + value + "'";
  into = value == "yes";
  return std::nullopt;
}

template <std::uint32_t Trials::*Member>
ErrorText read_trials(Candidate& candidate, const std::string& value, std::int64_t) {
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (wrong != std::errc{} || end != value.data() + value.size() || number > kTrialsMax)
    return "must be an integer from 0 to " + std::to_string(kTrialsMax) + ", got '" + value + "'";
  candidate.trials.*Member = number;
  return std::nullopt;
}

template <std::string Candidate::*Member>
ErrorText read_text(Candidate& candidate, const std::string& value, std::int64_t) {
  candidate.*Member = value;
  return std::nullopt;
}

struct Setting {
  std::string_view key;
  // Sets the value, and returns what is wrong with it, or nothing.
  ErrorText (*set)(Candidate& candidate, const std::string& value, std::int64_t now_ms);
};

constexpr Setting kSettings[] = {
    {"id", read_text<&Candidate::label>},
    // The format finds the problem, because it knows the directory of the file.
    {"problem", [](Candidate&, const std::string&, std::int64_t) { return ErrorText(); }},
    {"backend", [](Candidate& candidate, const std::string& value,
                   std::int64_t) { return read_word(value, candidate.backend.emplace()); }},
    {"device",
     [](Candidate& candidate, const std::string& value, std::int64_t) { return read_word(value, candidate.device); }},
    {"gpu", read_text<&Candidate::gpu_model>},
    {"precision", [](Candidate& candidate, const std::string& value,
                     std::int64_t) { return read_word(value, candidate.precision); }},
    {"warmup", read_trials<&Trials::warmup>},
    {"timed", read_trials<&Trials::timed>},
    {"baseline", [](Candidate& candidate, const std::string& value,
                    std::int64_t) { return read_word(value, candidate.trials.baseline); }},
    {"profile", [](Candidate& candidate, const std::string& value,
                   std::int64_t) { return read_word(value, candidate.trials.profile); }},
    {"streams", [](Candidate& candidate, const std::string& value,
                   std::int64_t) { return read_word(value, candidate.trials.streams); }},
    {"graphs", [](Candidate& candidate, const std::string& value,
                  std::int64_t) { return read_word(value, candidate.trials.graphs); }},
    {"need_extensions", [](Candidate& candidate, const std::string& value,
                           std::int64_t) { return read_flag(value, candidate.trials.need_extensions); }},
    {"priority",
     [](Candidate& candidate, const std::string& value, std::int64_t) { return read_word(value, candidate.priority); }},
    {"not_before", [](Candidate& candidate, const std::string& value,
                      std::int64_t now_ms) { return read_when(value, now_ms, candidate.not_before_ms); }},
    {"deadline", [](Candidate& candidate, const std::string& value,
                    std::int64_t now_ms) { return read_when(value, now_ms, candidate.deadline_ms); }},
    {"time_limit_s", [](Candidate& candidate, const std::string& value,
                        std::int64_t) { return read_limit(value, candidate.time_limit_ms); }},
    {"require",
     [](Candidate& candidate, const std::string& value, std::int64_t) {
       candidate.labels.push_back(value);
       return ErrorText();
     }},
    {"author", read_text<&Candidate::author>},
};

// Settings that decide which outputs count as correct. The submitter makes them, and a kernel must not.
constexpr std::string_view kSubmittersOnly[] = {"rtol",  "atol",      "correctness", "workloads",
                                                "truth", "truth_rms", "truth_max",   "allow_precision"};

// Reads the words of a `kq:` comment. Each is key=value, where the value may be in double quotes.
void read_words(std::string_view text, std::size_t line, std::vector<HeaderSetting>& found) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
    if (text.empty() || text == "*/") return;
    const std::size_t key_end = std::min(text.find_first_of("= \t"), text.size());
    HeaderSetting setting{.key = std::string(text.substr(0, key_end)), .value = {}, .line = line};
    const bool has_value = key_end < text.size() && text[key_end] == '=';
    text.remove_prefix(has_value ? key_end + 1 : key_end);
    const bool is_quoted = has_value && text.starts_with('"') && text.find('"', 1) != std::string_view::npos;
    if (is_quoted) text.remove_prefix(1);
    const std::size_t end =
        !has_value ? 0 : std::min(is_quoted ? text.find('"') : text.find_first_of(" \t\r"), text.size());
    setting.value = std::string(text.substr(0, end));
    text.remove_prefix(is_quoted ? end + 1 : end);
    if (!has_value) {
      setting.value = setting.key;
      setting.key.clear();
    }
    found.push_back(std::move(setting));
  }
}

}  // namespace

Expected<double> parse_tolerance(const std::string& text) {
  double number = -1;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || !(number >= 0 && number <= 1))
    return bad_input("must be a number from 0 to 1, got '" + text + "'");
  return number;
}

Expected<double> parse_truth_factor(const std::string& text) {
  double number = -1;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || !(number >= 0 && number <= kTruthFactorMax)) {
    return bad_input("must be a number from 0 to " + std::to_string(static_cast<int>(kTruthFactorMax)) + ", got '" +
                     text + "'");
  }
  return number;
}

ErrorText set_by_name(Candidate& candidate, const std::string& key, const std::string& value, std::int64_t now_ms) {
  if (key.starts_with("tag.") && key.size() > 4) {
    candidate.tags[key.substr(4)] = value;
    return std::nullopt;
  }
  std::string known;
  for (const Setting& setting : kSettings) {
    if (setting.key == key) {
      const ErrorText wrong = setting.set(candidate, value, now_ms);
      return wrong ? ErrorText(key + " " + *wrong) : std::nullopt;
    }
    known += std::string(setting.key) + ", ";
  }
  if (std::ranges::find(kSubmittersOnly, key) != std::end(kSubmittersOnly)) {
    return key +
           " is not for a kernel to say, as it decides what counts as right; a line of JSON Lines or a flag may have "
           "it";
  }
  return key.empty() ? "'" + value + "' is no key=value"
                     : "there is no setting '" + key + "'; known are " + known + "tag.NAME";
}

std::vector<HeaderSetting> read_header(std::string_view text) {
  std::vector<HeaderSetting> found;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) continue;
    std::size_t sign = 0;
    for (const std::string_view start : {"#!", "//", "/*", "*", "#"}) {
      if (sign == 0 && line.starts_with(start)) sign = start.size();
    }
    if (sign == 0 || line.starts_with("#include") || line.starts_with("#pragma") || line.starts_with("#define"))
      return found;
    line.remove_prefix(sign);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("kq:")) read_words(line.substr(3), number, found);
  }
  return found;
}

}  // namespace kq::producer
