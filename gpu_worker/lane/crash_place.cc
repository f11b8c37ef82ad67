#include "gpu_worker/lane/crash_place.h"

#include "gpu_worker/child/runtime/python_place.h"

namespace kq::worker {
namespace {

constexpr std::string_view kHeading = "Fatal Python error: ";  // the first line of faulthandler

}  // namespace

std::string crash_place(std::string_view log, const std::vector<SourceFile>& files) {
  const std::size_t begin = log.rfind(kHeading);
  if (begin == log.npos) return {};
  const std::string place = runtime::place_in_traceback(log.substr(begin));
  const std::size_t colon = std::min(place.rfind(':'), place.size());
  const std::string_view path = std::string_view(place).substr(0, colon);
  for (const SourceFile& file : files) {
    if (path == file.name || path.ends_with("/" + file.name)) return file.name + place.substr(colon);
  }
  return place;
}

std::string message_place(std::string_view message, const std::vector<SourceFile>& files) {
  const std::size_t begin = message.rfind('(');
  if (!message.ends_with(')') || begin == message.npos) return {};
  const std::string_view place = message.substr(begin + 1, message.size() - begin - 2);
  const std::size_t colon = std::min(place.rfind(':'), place.size());
  const std::string_view line = place.substr(std::min(colon + 1, place.size()));
  if (line.empty() || line.find_first_not_of("0123456789") != line.npos) return {};
  for (const SourceFile& file : files) {
    const std::string_view name = std::string_view(file.name).substr(file.name.rfind('/') + 1);
    if (place.substr(0, colon) == name) return std::string(place);
  }
  return {};
}

}  // namespace kq::worker
