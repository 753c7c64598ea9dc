#include "models/gguf/gguf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "models/gguf/header_reader.hpp"

namespace rldp::models {

namespace {

template <class Number>
Number number_at(std::string_view bytes, std::size_t at = 0) {
    Number out;
    std::memcpy(&out, bytes.data() + at * sizeof out, sizeof out);
    return out;
}

/// Of any integer kind; nothing of others, and beyond 63 bits.
std::optional<std::int64_t> integer_at(gguf_kind kind, std::string_view bytes, std::size_t at) {
    switch (kind) {
        case gguf_kind::u8:
            return number_at<std::uint8_t>(bytes, at);
        case gguf_kind::i8:
            return number_at<std::int8_t>(bytes, at);
        case gguf_kind::u16:
            return number_at<std::uint16_t>(bytes, at);
        case gguf_kind::i16:
            return number_at<std::int16_t>(bytes, at);
        case gguf_kind::u32:
            return number_at<std::uint32_t>(bytes, at);
        case gguf_kind::i32:
            return number_at<std::int32_t>(bytes, at);
        case gguf_kind::i64:
            return number_at<std::int64_t>(bytes, at);
        case gguf_kind::u64: {
            const auto wide = number_at<std::uint64_t>(bytes, at);
            return wide >> 63 != 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(wide));
        }
        default:
            return std::nullopt;
    }
}

/// The shortest decimal that is rounded to this float32, as a double.
double meant_by(float number) {
    double out = 0;
    const auto text = fmt::format("{}", number);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failed == std::errc() ? out : static_cast<double>(number);
}

}  // namespace

bool is_gguf(const std::filesystem::path& path) {
    return path.extension() == ".gguf" && !std::filesystem::is_directory(path);
}

/// Fills the file's tables from its header.
class gguf_file::header_reader {
  public:
    explicit header_reader(gguf_file& file) : file_(file), bytes_(file.bytes_, file.origin_) {}

    void read() {
        const auto counts = read_gguf_beginning(bytes_);
        for (std::uint64_t i = 0; i < counts.values; ++i) read_value();
        const auto alignment = file_.integer("general.alignment", 1, std::int64_t{1} << 20, 32);
        if ((alignment & (alignment - 1)) != 0) file_.refuse_key("general.alignment", "must be a power of two");
        std::vector<const std::pair<const std::string, gguf_tensor>*> order;
        for (std::uint64_t i = 0; i < counts.tensors; ++i) order.push_back(read_tensor());
        place(order, static_cast<std::size_t>(alignment));
    }

  private:
    void read_value() {
        const auto key = std::string(bytes_.text("a metadata key"));
        const auto where = fmt::format("metadata key '{}'", key);
        value found{.kind = bytes_.number<std::uint32_t>(where)};
        if (const auto kind = static_cast<gguf_kind>(found.kind); kind == gguf_kind::list) {
            found.element = bytes_.number<std::uint32_t>(where);
            const auto element = known(key, found.element);
            if (element == gguf_kind::list) file_.refuse_key(key, "holds lists of lists, which are not read");
            const auto count = bytes_.number<std::uint64_t>(where);
            found.bytes = bytes_.list(element, count, where);
            found.count = static_cast<std::size_t>(count);
        } else if (known(key, found.kind) == gguf_kind::text) {
            found.bytes = bytes_.text(where);
        } else {
            found.bytes = bytes_.list(kind, 1, where);
        }
        if (!file_.values_.emplace(key, found).second) file_.refuse_key(key, "appears twice");
    }

    gguf_kind known(const std::string& key, std::uint32_t kind) const {
        if (kind > static_cast<std::uint32_t>(gguf_kind::f64))
            file_.refuse_key(key, fmt::format("is of type {}, which GGUF does not have", kind));
        return static_cast<gguf_kind>(kind);
    }

    /// Until place() a tensor begins where its offset says.
    const std::pair<const std::string, gguf_tensor>* read_tensor() {
        constexpr std::uint32_t most_dimensions = 4;
        constexpr std::int64_t most_elements = std::int64_t{1} << 59;  // their bytes fit 63 bits
        const auto name = std::string(bytes_.text("a tensor's name"));
        const auto where = fmt::format("tensor '{}'", name);
        const auto refuse_tensor = [&](const std::string& what) {
            refuse(fmt::format("{}: {} {}", file_.origin_, where, what));
        };
        const auto dimensions = bytes_.number<std::uint32_t>(where);
        if (dimensions < 1 || dimensions > most_dimensions)
            refuse_tensor(fmt::format("has {} dimensions; 1 to {} are read", dimensions, most_dimensions));
        std::vector<std::int64_t> shape(dimensions);
        std::int64_t elements = 1;
        for (auto& size : shape) {
            const auto wide = bytes_.number<std::uint64_t>(where);
            if (wide < 1 || wide > static_cast<std::uint64_t>(most_elements / elements))
                refuse_tensor(fmt::format("has a dimension of {}, with which nobody counts its numbers", wide));
            size = static_cast<std::int64_t>(wide);
            elements *= size;
        }
        std::reverse(shape.begin(), shape.end());
        const auto type = find_ggml_type(bytes_.number<std::uint32_t>(where), file_.origin_ + ": " + where);
        if (!fills_blocks(type, shape.back()))
            refuse_tensor(fmt::format("has rows of {} numbers, which don't fill {}'s blocks of {}", shape.back(),
                                      name_of(type), format_of(type).elements));
        const auto size = static_cast<std::size_t>(elements / shape.back() * count_row_bytes(type, shape.back()));
        const auto offset = bytes_.number<std::uint64_t>(where);
        if (offset > file_.bytes_.size())
            refuse_tensor(
                fmt::format("lies {} bytes into the data of a file of {} bytes; the file is truncated or "
                            "damaged, bring back the original",
                            offset, file_.bytes_.size()));
        const auto begin = static_cast<std::size_t>(offset);
        const auto [at, is_new] =
            file_.tensors_.emplace(name, gguf_tensor{type, std::move(shape), begin, begin + size});
        if (!is_new) refuse_tensor("appears twice");
        return &*at;
    }

    /// Tensors follow each other in the header's order, each aligned.
    void place(const std::vector<const std::pair<const std::string, gguf_tensor>*>& order, std::size_t alignment) {
        const auto aligned = [&](std::size_t at) { return (at + alignment - 1) / alignment * alignment; };
        const auto data = aligned(bytes_.position());
        std::size_t next = 0;
        for (const auto* item : order) {
            auto& [name, tensor] = *item;
            const auto where = fmt::format("{}: tensor '{}'", file_.origin_, name);
            if (tensor.begin != next)
                refuse(
                    fmt::format("{} lies at byte {} of the data, not at {}, where the one before and an alignment "
                                "of {} put it; the file is damaged, bring back the original",
                                where, tensor.begin, next, alignment));
            if (data > file_.bytes_.size() || tensor.end > file_.bytes_.size() - data)
                refuse(
                    fmt::format("{} ends at byte {} of {} bytes of data; the file is truncated, bring back the "
                                "original",
                                where, tensor.end, file_.bytes_.size() - std::min(data, file_.bytes_.size())));
            next = aligned(tensor.end);
            auto& placed = file_.tensors_.at(name);
            placed.begin += data;
            placed.end += data;
        }
    }

    gguf_file& file_;
    gguf_bytes bytes_;
};

gguf_file::gguf_file(const std::filesystem::path& path) : origin_(path.string()) {
    auto file = map_file(path);
    bytes_ = {static_cast<const char*>(file.bytes.get()), file.size};
    mapping_ = std::move(file.bytes);
    header_reader(*this).read();
}

void gguf_file::refuse_key(const std::string& key, const std::string& what) const {
    refuse(fmt::format("{}: metadata key '{}' {}", origin_, key, what));
}

const gguf_file::value& gguf_file::at(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) refuse_key(key, "is missing");
    return found->second;
}

std::optional<std::int64_t> gguf_file::to_integer(const value& of) const {
    if (static_cast<gguf_kind>(of.kind) != gguf_kind::list)
        return integer_at(static_cast<gguf_kind>(of.kind), of.bytes, 0);
    std::optional<std::int64_t> out;
    for (std::size_t i = 0; i < of.count; ++i) {
        const auto one = integer_at(static_cast<gguf_kind>(of.element), of.bytes, i);
        if (!one || (out && *out != *one)) return std::nullopt;
        out = one;
    }
    return out;
}

std::int64_t gguf_file::integer(const std::string& key, std::int64_t low, std::int64_t high) const {
    const auto found = to_integer(at(key));
    if (!found || *found < low || *found > high)
        refuse_key(key, fmt::format("must be an integer from {} to {}, the same of all layers", low, high));
    return *found;
}

std::int64_t gguf_file::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                std::int64_t missing) const {
    return has(key) ? integer(key, low, high) : missing;
}

double gguf_file::number(const std::string& key, double low, double high) const {
    const auto& found = at(key);
    const auto kind = static_cast<gguf_kind>(found.kind);
    const auto whole = to_integer(found);
    const double number = kind == gguf_kind::f32   ? meant_by(number_at<float>(found.bytes))
                          : kind == gguf_kind::f64 ? number_at<double>(found.bytes)
                          : whole                  ? static_cast<double>(*whole)
                                                   : std::numeric_limits<double>::quiet_NaN();
    if (!(number >= low && number <= high)) refuse_key(key, fmt::format("must be a number from {} to {}", low, high));
    return number;
}

double gguf_file::number(const std::string& key, double low, double high, double missing) const {
    return has(key) ? number(key, low, high) : missing;
}

bool gguf_file::boolean(const std::string& key, bool missing) const {
    if (!has(key)) return missing;
    const auto& found = at(key);
    if (static_cast<gguf_kind>(found.kind) != gguf_kind::boolean) refuse_key(key, "must be true or false");
    return found.bytes.front() != 0;
}

std::string gguf_file::text(const std::string& key) const {
    const auto& found = at(key);
    if (static_cast<gguf_kind>(found.kind) != gguf_kind::text) refuse_key(key, "must be a text");
    return std::string(found.bytes);
}

std::string gguf_file::text(const std::string& key, const std::string& missing) const {
    return has(key) ? text(key) : missing;
}

const gguf_file::value& gguf_file::list_at(const std::string& key) const {
    const auto& found = at(key);
    if (static_cast<gguf_kind>(found.kind) != gguf_kind::list) refuse_key(key, "must be a list");
    return found;
}

std::size_t gguf_file::count(const std::string& key) const {
    return list_at(key).count;
}

bool gguf_file::is_list(const std::string& key) const {
    return static_cast<gguf_kind>(at(key).kind) == gguf_kind::list;
}

std::vector<std::string_view> gguf_file::texts(const std::string& key) const {
    const auto& found = list_at(key);
    if (static_cast<gguf_kind>(found.element) != gguf_kind::text) refuse_key(key, "must be a list of texts");
    gguf_bytes walk(found.bytes, origin_);
    std::vector<std::string_view> out;
    out.reserve(found.count);
    while (out.size() < found.count) out.push_back(walk.text(key));
    return out;
}

std::vector<std::int64_t> gguf_file::integers(const std::string& key) const {
    const auto& found = list_at(key);
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < found.count; ++i) {
        const auto one = static_cast<gguf_kind>(found.element) == gguf_kind::boolean
                             ? std::optional<std::int64_t>(found.bytes[i] != 0)
                             : integer_at(static_cast<gguf_kind>(found.element), found.bytes, i);
        if (!one) refuse_key(key, "must be a list of integers");
        out.push_back(*one);
    }
    return out;
}

std::vector<float> gguf_file::numbers(const std::string& key) const {
    const auto& found = list_at(key);
    if (static_cast<gguf_kind>(found.element) != gguf_kind::f32) refuse_key(key, "must be a list of float32");
    std::vector<float> out(found.count);
    if (!out.empty()) std::memcpy(out.data(), found.bytes.data(), out.size() * sizeof(float));
    return out;
}

quantized_tensor gguf_file::tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) refuse(fmt::format("{}: tensor '{}' is missing", origin_, name));
    const auto& [type, shape, begin, end] = found->second;
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes_.data());
    return make_quantized(type, rows, shape.back(), mapping_, {data + begin, end - begin});
}

void gguf_file::forget(const std::string& name) const {
    const auto& [type, shape, begin, end] = tensors_.at(name);
    forget_pages(bytes_.data() + begin, end - begin);
}

}  // namespace rldp::models
