// Describes messages in the trace of a world, such as "lease_batch 3/1 'source 7 of order 0.1'".
#pragma once

#include <string>
#include <string_view>

#include "net/link.h"

namespace kq::sim {

std::string text_to_broker(net::Side from, std::string_view bytes);
std::string text_from_broker(net::Side to, std::string_view bytes);

}  // namespace kq::sim
