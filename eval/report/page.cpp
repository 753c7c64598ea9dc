#include "eval/report/page.hpp"

#include <fmt/format.h>

#include "eval/report/html.hpp"
#include "eval/report/style.hpp"

namespace rldp::eval {

namespace {

std::string document(const std::string& title, const std::string& main) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        // nothing from outside, no script: the page is what it is
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<title>" +
        escaped(title) + "</title>\n<style>";
    out += embedded::look;
    out += report_style;
    return out + "</style></head>\n<body>" + main + "</main></body></html>\n";
}

}  // namespace

std::string page(const std::string& title, const std::string& body) {
    return document(title, "<main>\n" + body);
}

std::string one_screen(const std::string& title, const std::string& body) {
    return document(title, "<main class=\"screen\">\n" + body);
}

std::string figures(const std::vector<captioned>& all, const std::string& data_is_in) {
    std::string out = "<div class=\"figures\">\n";
    for (const auto& one : all) {
        std::string picture = "<p class=\"sub\">No values were recorded.</p>";
        if (!one.empty()) {
            const auto svg = draw(one.drawing);
            if (!svg)  // the same for every other figure
                return "<p class=\"note\">The figures are missing because gnuplot could not be run. " + data_is_in +
                       "; install gnuplot (Debian: gnuplot-nox) and the next report will show them.</p>\n";
            picture = *svg;
        }
        out += fmt::format(
            "<figure id=\"figure_{0}\"><h3 id=\"{0}_title\">{1}</h3>\n{2}<figcaption>{3}</figcaption></figure>\n",
            one.drawing.id, escaped(one.drawing.title), picture, one.caption);
    }
    return out + "</div>\n";
}

}  // namespace rldp::eval
