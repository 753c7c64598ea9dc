#include "models/gguf/header_reader.hpp"

#include <fmt/format.h>

#include <bit>

namespace rldp::models {

namespace {

constexpr std::uint32_t least_version = 2, greatest_version = 3;

struct ggml_type_name {
    std::uint32_t type;
    std::string_view name;
};

/// Those that are not read.
constexpr ggml_type_name unread_types[] = {
    {9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
    {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"},
    {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},
    {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"},  {40, "NVFP4"}, {41, "Q1_0"}};

/// Bytes of one; of a text its length alone.
std::uint64_t size_of(gguf_kind kind) {
    switch (kind) {
        case gguf_kind::u8:
        case gguf_kind::i8:
        case gguf_kind::boolean:
            return 1;
        case gguf_kind::u16:
        case gguf_kind::i16:
            return 2;
        case gguf_kind::u32:
        case gguf_kind::i32:
        case gguf_kind::f32:
            return 4;
        default:
            return 8;
    }
}

std::uint32_t turned(std::uint32_t word) {
    return word >> 24 | (word >> 8 & 0xff00U) | (word << 8 & 0xff0000U) | word << 24;
}

}  // namespace

std::string_view gguf_bytes::list(gguf_kind kind, std::uint64_t count, const std::string& what) {
    const auto each = size_of(kind), left = static_cast<std::uint64_t>(all_.size() - at_);
    if (kind != gguf_kind::text) return take(count > left / each ? left + 1 : count * each, what);
    const auto begin = at_;
    if (count > left / each) take(left + 1, what);
    for (std::uint64_t i = 0; i < count; ++i) text(what);
    return all_.substr(begin, at_ - begin);
}

gguf_counts read_gguf_beginning(gguf_bytes& bytes) {
    const std::string what = "the header";
    const auto refuse_file = [&](const std::string& line) { refuse(bytes.origin() + ": " + line); };
    const auto magic = bytes.take(4, what);
    if (magic != "GGUF") {
        const bool older = magic == "lmgg" || magic == "tjgg" || magic == "fmgg";
        refuse_file(older ? "a ggml file from before GGUF; convert the model anew with llama.cpp"
                          : "not a GGUF file: it does not begin with GGUF");
    }
    const auto version = bytes.number<std::uint32_t>(what);
    if (const auto other = turned(version); other >= 1 && other <= greatest_version)
        refuse_file("made for big-endian machines; convert it with gguf-convert-endian of the Python package gguf");
    if (version < least_version || version > greatest_version)
        refuse_file(
            fmt::format("GGUF version {} is not read; versions {} and {} are: convert the model anew with "
                        "llama.cpp",
                        version, least_version, greatest_version));
    const auto tensors = bytes.number<std::uint64_t>(what);
    return {tensors, bytes.number<std::uint64_t>(what)};
}

block_type find_ggml_type(std::uint32_t type, const std::string& where) {
    for (const auto& row : names<block_type>::rows)
        if (row.ggml >= 0 && static_cast<std::uint32_t>(row.ggml) == type) return row.value;
    std::string known, name = "unknown";
    for (const auto& row : names<block_type>::rows)
        if (row.ggml >= 0) known += (known.empty() ? "" : ", ") + std::string(row.name);
    for (const auto& row : unread_types)
        if (row.type == type) name = row.name;
    refuse(fmt::format("{} has type {} ({}), which is not read; {} are: take the model in one of these", where, type,
                       name, known));
}

}  // namespace rldp::models
