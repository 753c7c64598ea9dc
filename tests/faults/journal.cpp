#include "tests/faults/journal.hpp"

#include <map>
#include <sstream>

namespace rldp::testing {

namespace {

std::string describe_call(const event& what) {
    static const std::map<std::string, std::string> others{{"create", "open"}, {"rmdir", "unlink"}};
    const auto found = others.find(what.kind);
    return found == others.end() ? what.kind : found->second;
}

/// The last two names, less the letters of a nascent directory.
std::string describe_end(const event& what) {
    const path whole(what.kind == "rename" ? what.bytes : what.where);
    const auto parent = whole.parent_path().filename().string();
    const auto random = parent.find(".partial-");
    const auto name = whole.filename().string();
    const auto inside = name.find(".partial-");
    if (inside != std::string::npos) return name.substr(0, inside + 9);
    return random == std::string::npos ? parent + "/" + name : "/" + name;
}

}  // namespace

std::vector<event> read_journal(const path& file) {
    std::vector<event> out;
    const auto text = read_content(file);
    std::size_t at = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
        std::istringstream line(text.substr(at, end - at));
        event read;
        std::size_t length = 0;
        line >> read.kind >> read.number >> length;
        line.get();
        std::getline(line, read.where);
        if (end + 1 + length > text.size()) break;
        read.bytes = text.substr(end + 1, length);
        out.push_back(std::move(read));
        at = end + 1 + length;
    }
    return out;
}

std::string named_point::order(const std::string& action) const {
    return kind + ":" + where + ":" + std::to_string(number) + ":" + action;
}

named_point point_at(const std::vector<event>& journal, std::size_t index) {
    named_point out{describe_call(journal[index]), describe_end(journal[index]), 0};
    for (std::size_t i = 0; i <= index; ++i) {
        const auto& whole = journal[i].kind == "rename" ? journal[i].bytes : journal[i].where;
        if (describe_call(journal[i]) == out.kind && whole.find(out.where) != std::string::npos) ++out.number;
    }
    return out;
}

}  // namespace rldp::testing
