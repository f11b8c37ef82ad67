// The routes of the live page: the page, what it shows, and what operators may do there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "producer/gateway/http.h"

namespace kq::gateway {

inline constexpr std::size_t kPageRowsMax = 100;              // of one answer with jobs or workers
inline constexpr std::int64_t kOverviewEventMs = 500;         // between two events of one page
inline constexpr std::int64_t kStopCheckMs = 100;             // between two checks whether a stream shall end
inline constexpr std::int64_t kOverviewKeepAliveMs = 10'000;  // between two comments of a stream without news
inline constexpr std::int64_t kOverviewStreamMs = 3'600'000;  // of one stream; a page connects again
inline constexpr std::size_t kCancelledJobsMax = 1'000;       // of one request; the reader asks again for the others
inline constexpr std::size_t kSearchBytesMax = 200;           // of a searched text

// `page` is the HTML of the page; where it is empty, GET / leads to the description of the routes.
Routes live_routes(std::string page);

}  // namespace kq::gateway
