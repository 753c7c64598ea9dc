// Values as text: Python's str() and repr(), and JSON.
#include <fmt/format.h>

#include <cmath>

#include "data/chat/python_text.hpp"
#include "data/chat/value.hpp"

namespace rldp::data::jinja {

namespace {

void write_repr(growing& out, const value& of);

void write_repr_of_text(growing& out, const std::string& bytes) {
    if (!is_ascii(bytes)) throw fault("a list or dict with text beyond ASCII can't be printed here; use tojson");
    const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
    const std::string edge(1, quote);
    out.add(edge);
    for (const char c : bytes) {
        if (c == '\n')
            out.add("\\n");
        else if (c == '\r')
            out.add("\\r");
        else if (c == '\t')
            out.add("\\t");
        else if (c == '\\' || c == quote)
            out.add(std::string{'\\', c});
        else if (c < 0x20 || c == 0x7f)
            out.add(fmt::format("\\x{:02x}", static_cast<unsigned>(c)));
        else
            out.add(std::string_view(&c, 1));
    }
    out.add(edge);
}

void write_scalar(growing& out, const value& of) {
    if (std::holds_alternative<none>(of))
        out.add("None");
    else if (const auto* flag = std::get_if<bool>(&of))
        out.add(*flag ? "True" : "False");
    else if (const auto* whole = std::get_if<std::int64_t>(&of))
        out.add(std::to_string(*whole));
    else if (const auto* number = std::get_if<double>(&of))
        out.add(written(*number));
    else
        throw fault(describe_kind(of) + " can't be printed");
}

void write_items(growing& out, const series& items) {
    const bool is_list = items.what == series::kind::list;
    if (!is_list && items.what != series::kind::tuple)
        throw fault("a view or a generator can't be printed; make it a list first");
    out.add(is_list ? "[" : "(");
    for (std::size_t i = 0; i < items.items.size(); ++i) {
        if (i > 0) out.add(", ");
        write_repr(out, items.items[i]);
    }
    out.add(is_list ? "]" : items.items.size() == 1 ? ",)" : ")");
}

void write_repr(growing& out, const value& of) {
    if (std::holds_alternative<undefined>(of)) {
        out.add("Undefined");
    } else if (const auto* bytes = find_text(of)) {
        write_repr_of_text(out, *bytes);
    } else if (const auto* items = find_series(of)) {
        write_items(out, *items);
    } else if (const auto* entries = find_mapping(of)) {
        const char* separator = "{";
        for (const auto& [key, held] : entries->entries) {
            out.add(separator);
            write_repr(out, key);
            out.add(": ");
            write_repr(out, held);
            separator = ", ";
        }
        out.add(entries->entries.empty() ? "{}" : "}");
    } else {
        write_scalar(out, of);
    }
}

void write_json_text(growing& out, std::string_view bytes) {
    out.add("\"");
    for (const char c : bytes) {
        static constexpr std::string_view plain = "\"\\\n\r\t\b\f", short_forms = "\"\\nrtbf";
        if (const auto which = plain.find(c); which != std::string_view::npos)
            out.add(std::string{'\\', short_forms[which]});
        else if (static_cast<unsigned char>(c) < 0x20)
            out.add(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
        else
            out.add(std::string_view(&c, 1));
    }
    out.add("\"");
}

std::string json_scalar(const value& of) {
    if (std::holds_alternative<none>(of)) return "null";
    if (const auto* flag = std::get_if<bool>(&of)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&of)) return std::to_string(*whole);
    const auto* number = std::get_if<double>(&of);
    if (number == nullptr) throw fault(describe_kind(of) + " can't be written as JSON");
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
    return written(*number);
}

/// Writes JSON with everything on one line, or each item on its own.
class json_writer {
  public:
    json_writer(growing& out, std::int64_t indent) : out_(out), indent_(indent) {}

    void write(const value& of, std::size_t level) {
        if (const auto* bytes = find_text(of))
            write_json_text(out_, *bytes);
        else if (const auto* items = find_series(of))
            write_list(of, *items, level);
        else if (const auto* entries = find_mapping(of))
            write_dict(*entries, level);
        else
            out_.add(json_scalar(of));
    }

  private:
    void write_list(const value& of, const series& items, std::size_t level) {
        if (items.what != series::kind::list && items.what != series::kind::tuple)
            throw fault(describe_kind(of) + " can't be written as JSON; make it a list first");
        out_.add("[");
        for (std::size_t i = 0; i < items.items.size(); ++i) {
            next(i, level + 1);
            write(items.items[i], level + 1);
        }
        if (!items.items.empty()) line(level);
        out_.add("]");
    }

    void write_dict(const mapping& in, std::size_t level) {
        out_.add("{");
        for (std::size_t i = 0; i < in.entries.size(); ++i) {
            next(i, level + 1);
            const auto& [key, held] = in.entries[i];
            const auto* name = find_text(key);
            write_json_text(out_, name != nullptr ? *name : json_scalar(key));
            out_.add(": ");
            write(held, level + 1);
        }
        if (!in.entries.empty()) line(level);
        out_.add("}");
    }

    void next(std::size_t index, std::size_t level) {
        if (index > 0) out_.add(indent_ < 0 ? ", " : ",");
        line(level);
    }

    void line(std::size_t level) {
        if (indent_ < 0) return;
        out_.add("\n");
        for (std::size_t i = 0; i < level; ++i) out_.add(std::string(static_cast<std::size_t>(indent_), ' '));
    }

    growing& out_;
    std::int64_t indent_;
};

}  // namespace

void write(growing& out, const value& of) {
    if (const auto* bytes = find_text(of))
        out.add(*bytes);
    else if (!std::holds_alternative<undefined>(of))
        write_repr(out, of);
}

std::string as_text(allowance& left, const value& of) {
    growing out(left);
    write(out, of);
    return std::move(out.text());
}

void write_json(growing& out, const value& of, std::int64_t indent) {
    constexpr std::int64_t widest = 16;
    if (indent > widest) throw fault(fmt::format("an indent of more than {} is not supported", widest));
    json_writer(out, indent).write(of, 0);
}

}  // namespace rldp::data::jinja
