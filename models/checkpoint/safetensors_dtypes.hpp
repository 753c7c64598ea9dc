#pragma once
// The element types of safetensors, and those of them that torch knows.
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rldp::models {

inline constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 10> safetensors_dtypes{{
    {"F64", c10::ScalarType::Double},
    {"F32", c10::ScalarType::Float},
    {"F16", c10::ScalarType::Half},
    {"BF16", c10::ScalarType::BFloat16},
    {"I64", c10::ScalarType::Long},
    {"I32", c10::ScalarType::Int},
    {"I16", c10::ScalarType::Short},
    {"I8", c10::ScalarType::Char},
    {"U8", c10::ScalarType::Byte},
    {"BOOL", c10::ScalarType::Bool},
}};

/// The others, with their bits: a file may hold such tensors, as long as nobody asks for one.
inline constexpr std::array<std::pair<std::string_view, std::size_t>, 12> unread_dtypes{{
    {"U16", 16},
    {"U32", 32},
    {"U64", 64},
    {"C64", 64},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E5M2FNUZ", 8},
    {"F8_E4M3FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
}};

inline std::optional<c10::ScalarType> find_dtype(std::string_view name) {
    for (const auto& [known, dtype] : safetensors_dtypes)
        if (known == name) return dtype;
    return std::nullopt;
}

/// Of one element; nothing where safetensors has no such type.
inline std::optional<std::size_t> find_bits(std::string_view name) {
    if (const auto dtype = find_dtype(name)) return 8 * c10::elementSize(*dtype);
    for (const auto& [known, bits] : unread_dtypes)
        if (known == name) return bits;
    return std::nullopt;
}

inline std::optional<std::string_view> dtype_name(c10::ScalarType dtype) {
    for (const auto& [name, known] : safetensors_dtypes)
        if (known == dtype) return name;
    return std::nullopt;
}

inline std::string dtype_names() {
    std::string result;
    for (const auto& [name, unused] : safetensors_dtypes) result += (result.empty() ? "" : ", ") + std::string(name);
    return result;
}

}  // namespace rldp::models
