#include "eval/report/html_table.hpp"

#include "eval/report/html.hpp"

namespace rldp::eval {

std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, std::size_t text_columns) {
    const auto row = [text_columns](const std::vector<std::string>& cells, const std::string& tag) {
        std::string out = "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i)
            out += "<" + tag + (i < text_columns ? ">" : " class=\"n\">") + cells[i] + "</" + tag + ">";
        return out + "</tr>\n";
    };
    std::string out =
        "<div class=\"table\"><table><caption>" + caption + "</caption>\n<thead>" + row(head, "th") + "</thead>\n";
    for (const auto& cells : rows) out += row(cells, "td");
    return out + "</table></div>\n";
}

std::string html_list_of_html(const std::vector<std::string>& items) {
    std::string out = "<ul>";
    for (const auto& item : items) out += "<li>" + item + "</li>\n";
    return out + "</ul>\n";
}

std::string html_list(const std::vector<std::string>& sentences) {
    std::vector<std::string> items;
    for (const auto& sentence : sentences) items.push_back(escaped(sentence));
    return html_list_of_html(items);
}

}  // namespace rldp::eval
