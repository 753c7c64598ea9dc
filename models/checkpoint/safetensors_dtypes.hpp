#pragma once
// The element types that both safetensors and torch know.
#include <c10/core/ScalarType.h>

#include <array>
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

inline std::optional<c10::ScalarType> dtype_of(std::string_view name) {
    for (const auto& [known, dtype] : safetensors_dtypes)
        if (known == name) return dtype;
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
