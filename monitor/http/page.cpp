#include "monitor/http/page.hpp"

#include <zlib.h>

#include <array>
#include <map>

#include "config/base/require.hpp"

namespace rldp::embedded {
extern const std::string_view page_index, page_style, page_d3, page_charts, page_app, page_api;
}

namespace rldp::monitor {

namespace {
constexpr int gzip_window = 15 + 16;  // of gzip's format, says zlib.h
}

const page_part* page_file(std::string_view path) {
    static const std::map<std::string_view, page_part> all = {
        {"/", {"text/html; charset=utf-8", embedded::page_index}},
        {"/app.css", {"text/css; charset=utf-8", embedded::page_style}},
        {"/d3.js", {"text/javascript; charset=utf-8", embedded::page_d3}},
        {"/charts.js", {"text/javascript; charset=utf-8", embedded::page_charts}},
        {"/app.js", {"text/javascript; charset=utf-8", embedded::page_app}}};
    const auto found = all.find(path);
    return found == all.end() ? nullptr : &found->second;
}

std::string api_description() {
    return unpacked(embedded::page_api);
}

std::string packed(std::string_view text) {
    z_stream from{};
    constexpr int memory = 8;  // zlib's default
    require(deflateInit2(&from, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) == Z_OK,
            "zlib can't begin");
    std::string out(deflateBound(&from, text.size()), '\0');
    from.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    from.avail_in = static_cast<uInt>(text.size());
    from.next_out = reinterpret_cast<Bytef*>(out.data());
    from.avail_out = static_cast<uInt>(out.size());
    const int state = deflate(&from, Z_FINISH);
    out.resize(from.total_out);
    deflateEnd(&from);
    require(state == Z_STREAM_END, "zlib did not come to an end");
    return out;
}

std::string unpacked(std::string_view gzip) {
    z_stream from{};
    require(inflateInit2(&from, gzip_window) == Z_OK, "zlib can't begin");
    from.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
    from.avail_in = static_cast<uInt>(gzip.size());
    std::string out;
    std::array<char, 1U << 16U> piece;
    int state = Z_OK;
    while (state == Z_OK) {
        from.next_out = reinterpret_cast<Bytef*>(piece.data());
        from.avail_out = static_cast<uInt>(piece.size());
        state = inflate(&from, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - from.avail_out);
    }
    inflateEnd(&from);
    require(state == Z_STREAM_END, "a part of the page is damaged");
    return out;
}

}  // namespace rldp::monitor
