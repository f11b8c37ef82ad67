// The documents that a gateway serves: its OpenAPI description, and a page that shows it.
#pragma once

#include <string_view>

#include "producer/gateway/http.h"

namespace kq::gateway {

// The texts of share/kq.openapi.json and producer/gateway/page.html, which the build puts into the program.
std::string_view openapi_text();
std::string_view page_text();

// GET /docs and GET /openapi.json.
Routes document_routes();

}  // namespace kq::gateway
