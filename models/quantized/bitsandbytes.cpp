#include "models/quantized/bitsandbytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "models/quantized/half.hpp"
#include "models/quantized/quantize.hpp"

namespace rldp::models {

namespace {

constexpr std::int64_t block = 64, packed = block / 2;
const std::string state_of = ".quant_state.bitsandbytes__";

/// Of a module's weight, what lies beside it.
std::string beside_weight(const std::string& name, const std::string& other) {
    constexpr std::string_view last = ".weight";
    return name.ends_with(last) ? name.substr(0, name.size() - last.size() + 1) + other : name + "." + other;
}

/// The files of one matrix.
class parts_reader {
  public:
    parts_reader(std::string name, std::int64_t rows, std::int64_t columns, const stored_finder& find)
        : name_(std::move(name)), rows_(rows), columns_(columns), find_(find) {}

    quantized_tensor read_nf4(bool nested) const {
        if (columns_ % block != 0)
            refuse(fmt::format("{}: rows of {} numbers don't fill blocks of {}; take the model unquantized",
                               where(at(name_), name_), columns_, block));
        check_state(nested);
        const auto count = rows_ * columns_ / block;
        const auto weight = sized(name_, {}, count * packed);
        check_map();
        const auto scales = nested ? sized(name_ + ".absmax", "U8", count) : sized(name_ + ".absmax", "F32", 4 * count);
        if (!nested) refuse_infinite(name_ + ".absmax");
        const auto head = nested ? 1 : 4;
        auto made = make_bytes(count * (head + packed));
        auto* out = made.bytes.data();
        for (std::int64_t i = 0; i < count; ++i, out += head + packed) {
            std::memcpy(out, scales.bytes.data() + i * head, static_cast<std::size_t>(head));
            std::memcpy(out + head, weight.bytes.data() + i * packed, packed);
        }
        return make_quantized(nested ? block_type::nf4 : block_type::nf4_single, rows_, columns_, std::move(made.owner),
                              made.bytes, nested ? read_nested(count) : nullptr);
    }

    quantized_tensor read_int8() const {
        const auto scales_name = beside_weight(name_, "SCB"), format_name = beside_weight(name_, "weight_format");
        if (const auto format = find_(format_name);
            format && std::any_of(format->bytes.begin(), format->bytes.end(), [](auto byte) { return byte != 0; }))
            refuse(fmt::format("{}: only rows as they are (0) are read", where(*format, format_name)));
        const auto weight = sized(name_, "I8", rows_ * columns_);
        const auto scales = sized(scales_name, "F32", 4 * rows_);
        refuse_infinite(scales_name);
        const auto row_bytes = count_row_bytes(block_type::int8, columns_);
        auto made = make_bytes(rows_ * row_bytes);
        for (std::int64_t row = 0; row < rows_; ++row) {
            auto* out = made.bytes.data() + row * row_bytes;
            std::memcpy(out, scales.bytes.data() + 4 * row, 4);
            std::memcpy(out + 4, weight.bytes.data() + row * columns_, static_cast<std::size_t>(columns_));
        }
        return make_quantized(block_type::int8, rows_, columns_, std::move(made.owner), made.bytes);
    }

  private:
    static std::string where(const stored_tensor& tensor, const std::string& name) {
        return fmt::format("{}: tensor '{}'", tensor.file, name);
    }

    stored_tensor at(const std::string& name) const {
        if (auto found = find_(name)) return *std::move(found);
        const auto weight = find_(name_);
        refuse(fmt::format("{}: tensor '{}', which belongs to '{}', is missing; bring back the original",
                           weight ? weight->file : name_, name, name_));
    }

    /// Of a type where one is named, and of so many bytes.
    stored_tensor sized(const std::string& name, std::string_view dtype, std::int64_t bytes) const {
        auto found = at(name);
        if (!dtype.empty() && found.dtype != dtype)
            refuse(fmt::format("{} has dtype {}, not {}", where(found, name), found.dtype, dtype));
        if (static_cast<std::int64_t>(found.bytes.size()) != bytes)
            refuse(fmt::format("{} has {} bytes; [{}, {}] asks for {}", where(found, name), found.bytes.size(), rows_,
                               columns_, bytes));
        return found;
    }

    static std::vector<float> to_floats(std::span<const std::uint8_t> bytes) {
        std::vector<float> out(bytes.size() / sizeof(float));
        std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
        return out;
    }

    std::vector<float> refuse_infinite(const std::string& name) const {
        const auto tensor = at(name);
        auto out = to_floats(tensor.bytes);
        if (!std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); }))
            refuse(where(tensor, name) +
                   " holds numbers that are not finite; the file is damaged, bring back the "
                   "original");
        return out;
    }

    nlohmann::json read_state() const {
        const auto name = name_ + state_of + "nf4";
        const auto tensor = at(name);
        const std::string_view text(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
        return parse_object(text, where(tensor, name));
    }

    void check_state(bool nested) const {
        const auto name = name_ + state_of + "nf4";
        const auto object = read_state();
        const json_reader json(object, where(at(name), name));
        const auto size = [&](const char* key, std::int64_t wanted) {
            if (const auto found = json.integer(key, 1, 1 << 30); found != wanted)
                refuse(fmt::format("{}: key '{}' is {}; only {} is read", json.origin(), key, found, wanted));
        };
        size("blocksize", block);
        if (nested) size("nested_blocksize", nested_scales::blocks);
        const nlohmann::json shape = {rows_, columns_};
        if (json.at("shape") != shape)
            refuse(fmt::format("{}: key 'shape' is {}; config.json asks for {}", json.origin(), json.at("shape").dump(),
                               shape.dump()));
    }

    void check_map() const {
        const auto name = name_ + ".quant_map";
        const auto& numbers = nf4_numbers();
        const auto map = sized(name, "F32", sizeof numbers);
        if (std::memcmp(map.bytes.data(), numbers.data(), sizeof numbers) != 0)
            refuse(where(map, name) + " is not NF4's; only that is read");
    }

    std::shared_ptr<const nested_scales> read_nested(std::int64_t count) const {
        auto out = std::make_shared<nested_scales>();
        const auto groups = (count + nested_scales::blocks - 1) / nested_scales::blocks;
        sized(name_ + ".nested_absmax", "F32", 4 * groups);
        out->absmax = refuse_infinite(name_ + ".nested_absmax");
        // Not always dynamic_map(): bitsandbytes' code for CPUs used to begin it with -1.
        sized(name_ + ".nested_quant_map", "F32", sizeof out->map);
        const auto map = refuse_infinite(name_ + ".nested_quant_map");
        std::copy(map.begin(), map.end(), out->map.begin());
        const auto object = read_state();
        const auto name = name_ + state_of + "nf4";
        constexpr double largest = 3e38;  // a float32
        out->offset =
            static_cast<float>(json_reader(object, where(at(name), name)).number("nested_offset", -largest, largest));
        return out;
    }

    std::string name_;
    std::int64_t rows_, columns_;
    const stored_finder& find_;
};

}  // namespace

std::optional<block_type> find_bitsandbytes(const std::string& name, const stored_finder& find) {
    if (const auto other = find(name + state_of + "fp4"))
        refuse(fmt::format("{}: tensor '{}' is in bitsandbytes' fp4; nf4 and int8 are read", other->file, name));
    if (find(name + state_of + "nf4")) return find(name + ".nested_absmax") ? block_type::nf4 : block_type::nf4_single;
    if (find(beside_weight(name, "SCB"))) return block_type::int8;
    return std::nullopt;
}

quantized_tensor gather_bitsandbytes(const std::string& name, std::int64_t rows, std::int64_t columns,
                                     const stored_finder& find) {
    const auto type = find_bitsandbytes(name, find);
    require(type.has_value(), "a tensor that bitsandbytes did not quantize is gathered");
    const parts_reader parts(name, rows, columns, find);
    return *type == block_type::int8 ? parts.read_int8() : parts.read_nf4(*type == block_type::nf4);
}

}  // namespace rldp::models
