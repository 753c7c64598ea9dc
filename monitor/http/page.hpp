#pragma once
// The page's files, which are part of the program.
#include <string>
#include <string_view>

namespace rldp::monitor {

struct page_part {
    std::string type;
    std::string_view gzip;  ///< its bytes, compressed
};

/// By path, "/" for the page itself; nullptr where there is none.
const page_part* page_file(std::string_view path);
/// What the API answers, as OpenAPI 3.1 has it, but for the quantities (openapi_json() has them).
std::string api_description();
/// Compressed as gzip does.
std::string packed(std::string_view text);
/// What gzip compressed.
std::string unpacked(std::string_view gzip);

}  // namespace rldp::monitor
