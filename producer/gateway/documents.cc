#include "producer/gateway/documents.h"

namespace kq::gateway {
namespace {

constexpr std::string_view kCacheControl = "max-age=60";
// The page runs its own script and styles and loads nothing but the description from this gateway.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'";

Response document(std::string_view type, std::string_view text) {
  return {.status = 200,
          .type = std::string(type),
          .body = std::string(text),
          .headers = {{"Cache-Control", std::string(kCacheControl)}}};
}

Response get_openapi(const Request&, Service&) {
  return document("application/json", openapi_text());
}

Response get_page(const Request&, Service&) {
  Response response = document("text/html; charset=utf-8", page_text());
  response.headers.emplace_back("Content-Security-Policy", std::string(kPagePolicy));
  return response;
}

}  // namespace

Routes document_routes() {
  return {{.method = "GET", .path = "/docs", .access = Access::anyone, .handler = get_page},
          {.method = "GET", .path = "/openapi.json", .access = Access::anyone, .handler = get_openapi}};
}

}  // namespace kq::gateway
