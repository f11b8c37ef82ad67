#include "tests/bench/bodies.h"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::string_view kStart = "# job ";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kHeaderBytes = kStart.size() + kDigits + 1;
constexpr std::size_t kNoiseBytes = 8u << 20;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) give_up(path + " of the corpus cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace

Bodies::Bodies(const std::string& list) {
  if (list.empty()) {
    std::mt19937_64 random(1);
    noise_.resize(kNoiseBytes);
    for (char& byte : noise_) byte = static_cast<char>(random());
    return;
  }
  std::ifstream in(list);
  for (std::string path; std::getline(in, path);) files_.push_back(content_of(path));
  if (files_.empty()) give_up(list + ": a list of files, one path per line, was expected");
}

std::string Bodies::body(std::uint64_t number) const {
  char header[kHeaderBytes + 1];
  std::snprintf(header, sizeof header, "# job %016llx\n", static_cast<unsigned long long>(number));
  const std::string_view rest =
      files_.empty() ? std::string_view(noise_).substr(number * 7919 % (noise_.size() - kRandomBodyBytes),
                                                       kRandomBodyBytes - kHeaderBytes)
                     : std::string_view(files_[number % files_.size()]);
  std::string body;
  body.reserve(kHeaderBytes + rest.size());
  body.append(header, kHeaderBytes).append(rest);
  return body;
}

double Bodies::mean_bytes() const {
  if (files_.empty()) return kRandomBodyBytes;
  std::size_t bytes = 0;
  for (const std::string& file : files_) bytes += kHeaderBytes + file.size();
  return static_cast<double>(bytes) / static_cast<double>(files_.size());
}

std::uint64_t Bodies::number_in(std::string_view body) {
  std::uint64_t number = 0;
  const char* digits = body.data() + kStart.size();
  if (body.size() < kHeaderBytes || std::from_chars(digits, digits + kDigits, number, 16).ptr != digits + kDigits) {
    give_up("a job was leased whose first line differs from the submitted one");
  }
  return number;
}

}  // namespace kq::bench
